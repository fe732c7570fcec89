import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { referenceBinary } from '../test/support/reference.ts';
import { UsageError } from './arguments.ts';
import type { ServerCommand } from './server-under-test.ts';
import { shellQuote } from './shell-quote.ts';

const listen = '--listen ws://127.0.0.1:0';

/** The reference first, because ratios are taken against it, then this project's own build. */
export async function defaultServers(root: string, env: NodeJS.ProcessEnv): Promise<ServerCommand[]> {
  const codex = await referenceBinary().catch((error: Error) => {
    throw new UsageError(`no reference server to compare with: ${error.message}; give --server`, { cause: error });
  });
  const ours = 'dist/bin/exec-server.cjs';
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return [
    {
      name: 'codex',
      command: `${shellQuote(codex)} exec-server ${listen}`,
      shown: `codex exec-server ${listen}`,
      version: execFileSync(codex, ['--version'], { env, encoding: 'utf8' }).trim(),
    },
    {
      name: 'ours',
      command: `${shellQuote(process.execPath)} ${shellQuote(join(root, ours))} ${listen}`,
      shown: `node ${ours} ${listen}`,
      version: `exec-server ${version}`,
    },
  ];
}
