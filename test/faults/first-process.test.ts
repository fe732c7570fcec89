import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { argumentsOf, childrenOf, eventually } from '../support/proc.ts';
import { serverProgram } from '../support/server.ts';
import { runBeside, unshared } from './fault-rig.ts';

const programs = [
  ['rendezvous', '--listen', 'http://127.0.0.1:0'],
  ['forward', '--connect', 'ws://127.0.0.1:9', '--remote', 'http://127.0.0.1:9', '--environment-id', 'e'],
  ['mcp', '--http', '127.0.0.1:0'],
];

describe('the first process of a container', () => {
  it.each(programs)('reaps the orphans of others as %s, too', async (...args) => {
    const [program, ...options] = unshared('--pid', '--fork', '--mount-proc', '--kill-child');
    const outer = spawn(program!, [...options, process.execPath, serverProgram, ...args], {
      stdio: 'ignore',
      env: { ...process.env, CODEX_API_KEY: 'a-key' },
    });
    await eventually('the first process', () => childrenOf(outer.pid!).length > 0);
    const first = childrenOf(outer.pid!)[0]!.pid;
    await eventually('a process that reaps', () => argumentsOf(first)[0]!.endsWith('init'));
    runBeside(first, ['sh', '-c', 'sleep 0.05 & sleep 0.05 & exit 0']);
    await eventually('the end of all sleeps', () =>
      childrenOf(first).every(({ pid, state }) => state !== 'Z' && !argumentsOf(pid).includes('0.05')),
    );
    expect(childrenOf(first).length).toBeGreaterThan(0);
    outer.kill('SIGKILL');
    await once(outer, 'exit');
  });
});
