import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { makeOutOfBounds } from './out-of-bounds.ts';

declare module 'vitest' {
  interface ProvidedContext {
    publicFolder: string;
  }
}

/** What vitest calls before the first test of a project and after the last one, also when a worker has ended early. */
export function setup({ provide }: TestProject): () => void {
  const folder = makeOutOfBounds('public');
  chmodSync(folder, 0o755);
  provide('publicFolder', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}

/** A new directory that every account can read, for programs that other accounts run; it goes with this process. */
export function makePublicFolder(): string {
  const folder = mkdtempSync(join(inject('publicFolder'), 'x'));
  chmodSync(folder, 0o755);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
