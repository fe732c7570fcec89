import { it } from 'vitest';
import { isOurs } from './server-under-test.ts';

/** What our server does not serve yet. A scenario that needs it runs against other servers only. */
const missing = {
  files: 'the fs/* methods',
  sandboxedFiles: 'the fs/* methods inside a sandbox',
} as const;

/** A test that is shown as skipped, with the reason, while our server lacks what it needs. */
export function scenario(name: string, needs: keyof typeof missing, run: () => Promise<void>): void {
  if (isOurs) it.skip(`${name} (waits for ${missing[needs]})`, run);
  else it(name, run);
}
