import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { startServer } from '../support/server.ts';

const run = promisify(execFile);
const example = (name: string): string => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

it('the example that watches a build sees every step and ends it', async () => {
  await using server = await startServer();

  const { stdout } = await run(process.execPath, [example('build-and-watch.mjs'), server.url]);

  expect(stdout).toBe('step 1\nstep 2\nstep 3\nended with 143\n');
});
