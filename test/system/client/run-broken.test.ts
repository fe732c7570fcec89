import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { appeared, gone, uniqueSeconds } from '../../support/proc.ts';
import { serverProgram, startServer } from '../../support/server.ts';

const startRun = (args: readonly string[], options: SpawnOptions = {}): ChildProcess =>
  spawn(process.execPath, [serverProgram, 'run', ...args], options);

/** Prints without end, and can be found by its argument. */
const endless = (argument: string): string[] => ['--', 'sh', '-c', 'while :; do echo line; done', argument];

describe('run whose reader has gone', () => {
  it.each([
    ['stdout', 'here', []],
    ['stdout', 'on a server', ['--connect']],
    ['stderr', 'on a server', ['--connect']],
  ] as const)('ends the command, prints nothing and exits with 141: %s, %s', async (stream, _, connect) => {
    await using server = await startServer();
    const argument = uniqueSeconds();
    const [dash, ...command] = endless(argument);
    const redirected =
      stream === 'stderr' ? command.map((word) => word.replace('echo line', 'echo line >&2')) : command;
    const run = startRun([...connect, ...(connect.length > 0 ? [server.url] : []), dash!, ...redirected]);
    const other = text(stream === 'stdout' ? run.stderr! : run.stdout!);
    const ended = once(run, 'exit');
    const pids = await appeared(argument, 2); // `run` itself, and the command
    await once(run[stream]!, 'data');

    run[stream]!.destroy();

    expect(await ended).toEqual([141, null]);
    expect(await other).toBe('');
    await gone(pids);
  });
});

describe('run whose server is lost', () => {
  it('ends with 255 and the reason, whatever its streams are', async () => {
    const server = await startServer();
    const connect = ['--connect', server.url];
    const wirings: Record<string, ChildProcess> = {
      'an open stdin': startRun([...connect, '--', 'sh', '-c', 'echo ready; exec cat']),
      'no stdin': startRun([...connect, '--', 'sh', '-c', 'echo ready; exec sleep 1000'], {
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
      'stdin that ended': startRun([...connect, '--', 'sh', '-c', 'cat; echo ready; exec sleep 1000']),
      'a terminal there': startRun([...connect, '-t', '--', 'sh', '-c', 'echo ready; exec cat']),
      'a stdout that is not read': startRun([...connect, ...endless('x')]),
      'input that is not taken': startRun([...connect, '--', 'sh', '-c', 'echo ready; exec sleep 1000']),
    };
    wirings['stdin that ended']!.stdin!.end('some');
    const endless_ = wirings['input that is not taken']!.stdin!;
    endless_.on('error', () => {}); // it ends before all is written
    endless_.write(Buffer.alloc(64 * 2 ** 20));
    const ends = Object.entries(wirings).map(async ([wiring, run]) => {
      const stderr = text(run.stderr!);
      const [code] = await once(run, 'exit');
      return [wiring, code, await stderr];
    });
    await Promise.all(Object.values(wirings).map((run) => once(run.stdout!, 'readable')));

    await server.stop('SIGKILL');

    const reason = expect.stringMatching(/^Error: the connection was lost[^\n]*\n$/);
    expect(await Promise.all(ends)).toEqual(Object.keys(wirings).map((wiring) => [wiring, 255, reason]));
  });
});
