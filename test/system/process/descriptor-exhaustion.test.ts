import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { appeared, childrenOf, eventually, gone, isAlive, uniqueSeconds } from '../../support/proc.ts';
import { announced, serverProgram } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';

/** A server that may open so many descriptors. */
const startWith = (descriptors: number) =>
  announced(
    spawn(
      'sh',
      ['-c', `ulimit -n ${descriptors}; exec "$0" "$1" --listen ws://127.0.0.1:0`, process.execPath, serverProgram],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: '/usr/bin:/bin' },
      },
    ),
  );

it('a server with 100 descriptors ends 200 descendants of a command', async () => {
  const server = await startWith(100);
  await using client = await connect(server.url);
  const seconds = uniqueSeconds();
  const script = `for i in $(seq 200); do setsid sleep ${seconds} & done; wait`;
  const process = await client.start({ argv: ['/bin/sh', '-c', script], env: { PATH: '/usr/bin:/bin' } });
  const sleepers = await appeared(seconds, 200);
  await client.call('process/terminate', { processId: process.id });
  await process.closed();
  await gone(sleepers);
  await server.stop();
});

it('a server without a free descriptor ends what it is told to end, and goes on', async () => {
  const server = await startWith(70);
  await using client = await connect(server.url);
  const seconds = uniqueSeconds();
  const processes = [];
  try {
    for (;;) processes.push(await client.start({ argv: ['/bin/sleep', seconds] }));
  } catch (error) {
    expect(String((error as Error).message)).toContain('os error 24');
  }
  for (const { id } of processes) await client.call('process/terminate', { processId: id });
  for (const process of processes) await process.closed();
  const again = await client.start({ argv: ['/bin/true'] });
  expect(await again.exited()).toBe(0);
  await server.stop();
});

it('a server without any descriptor ends a command with its descendants, and goes on', async () => {
  const server = await startWith(200);
  await using client = await connect(server.url);
  const seconds = uniqueSeconds();
  const script = `setsid sleep ${seconds} & exec sleep ${seconds}`;
  const process = await client.start({ argv: ['/bin/sh', '-c', script], env: { PATH: '/usr/bin:/bin' } });
  const sleepers = await appeared(seconds, 2);
  limit(server.pid, 10);
  await client.call('process/terminate', { processId: process.id });
  await process.closed();
  await gone(sleepers);
  limit(server.pid, 200);
  const again = await client.start({ argv: ['/bin/true'] });
  expect(await again.exited()).toBe(0);
  await server.stop();
});

it('a guardian that dies while no descriptor is free is replaced when one is', async () => {
  const server = await startWith(200);
  await using _client = await connect(server.url);
  const guardians = () => childrenOf(server.pid).filter(({ pid }) => isAlive(pid) && nameOf(pid) === 'exec-guardian');
  await eventually('the guardian', () => guardians().length === 1);
  limit(server.pid, 10);
  const { pid } = guardians()[0]!;
  process.kill(pid, 'SIGKILL');
  await eventually('the server to reap its guardian', () => !childrenOf(server.pid).some((child) => child.pid === pid));
  expect(guardians()).toEqual([]);
  limit(server.pid, 200);
  await eventually('another guardian', () => guardians().length === 1);
  await server.stop();
});

const nameOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();

/** Lets a server that may open 200 descriptors open fewer. */
const limit = (server: number, descriptors: number) =>
  execFileSync('prlimit', ['--pid', String(server), `--nofile=${descriptors}:200`]);
