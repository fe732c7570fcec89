import { readFile, rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appeared, childrenOf, gone, processesWith, uniqueSeconds } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';

/** Ways for a child to escape a simple kill; each leaves `count` sleeping descendants that bear the number. */
const escapes: readonly { name: string; count: number; script: (seconds: string) => string; tty?: boolean }[] = [
  { name: 'a child in the background', count: 1, script: (s) => `sleep ${s} & wait` },
  { name: 'a child in a session of its own', count: 1, script: (s) => `setsid sleep ${s} & wait` },
  {
    name: 'a daemon that forked twice',
    count: 1,
    script: (s) => `(setsid sh -c 'sleep ${s} & exit' & exit); sleep 900`,
  },
  {
    name: 'a daemon without environment or descriptors',
    count: 1,
    script: (s) => `env -i setsid sh -c '(sleep ${s} <&- >&- 2>&- &) ; exit'; sleep 900`,
  },
  {
    name: 'children that ignore the signals that can be ignored',
    count: 1,
    script: (s) =>
      `trap '' TERM HUP INT QUIT; setsid sh -c "trap '' TERM HUP INT QUIT; sleep ${s}; sleep ${s}"; sleep 900`,
  },
  {
    name: 'a deep tree of sessions',
    count: 4,
    script: (s) =>
      `setsid sh -c 'sleep ${s} & sh -c "sleep ${s} & setsid sh -c \\"sleep ${s} & setsid sleep ${s}\\""'; sleep 900`,
  },
  {
    name: 'background jobs of a terminal',
    count: 2,
    script: (s) => `set -m; sleep ${s} & nohup setsid sleep ${s} & wait`,
    tty: true,
  },
  {
    name: 'a daemon behind a terminal',
    count: 1,
    script: (s) => `setsid sh -c 'trap "" HUP; sleep ${s} & exit'; sleep 900`,
    tty: true,
  },
  {
    name: 'a stopped child',
    count: 1,
    script: (s) => `sleep ${s} & until grep -qs sleep /proc/$!/comm; do :; done; kill -STOP $!; wait`,
  },
];

async function escaped(client: WireClient, { count, script, tty = false }: (typeof escapes)[number]) {
  const seconds = uniqueSeconds();
  const process = await client.start({ argv: ['bash', '-c', script(seconds)], tty });
  const pids = await appeared(seconds, count);
  return { process, pids, seconds };
}

describe('no process is left', () => {
  describe('process/terminate', () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startServer();
    });
    afterAll(() => server.stop());

    it.each(escapes)('leaves nothing of $name', async (way) => {
      await using client = await connect(server.url);
      const { process, pids, seconds } = await escaped(client, way);
      expect(await client.call('process/terminate', { processId: process.id })).toEqual({ running: true });
      await process.closed();
      await gone(pids);
      expect(processesWith(seconds)).toEqual([]);
    });

    it('leaves nothing that a graceful termination has left', async () => {
      await using client = await connect(server.url);
      const { process, pids, seconds } = await escaped(client, escapes[2]!);
      const mode = { type: 'graceful', timeoutMs: 100 };
      await client.call('process/terminate', { processId: process.id, mode });
      await process.closed();
      await gone(pids);
      expect(processesWith(seconds)).toEqual([]);
    });

    it('ends what a process that has exited left behind, once it is asked to', async () => {
      await using client = await connect(server.url);
      const seconds = uniqueSeconds();
      const process = await client.start({ argv: ['sh', '-c', `echo last words; setsid sleep ${seconds} &`] });
      await process.exited();
      const pids = await appeared(seconds);
      const force = { processId: process.id, mode: { type: 'force' } };
      expect(await client.call('process/terminate', force)).toEqual({ running: false });
      await gone(pids);
      await process.closed();
      expect(process.output()).toBe('last words\n');
    });

    it('touches no other process of the session', async () => {
      await using client = await connect(server.url);
      const doomed = await escaped(client, escapes[1]!);
      const spared = await escaped(client, escapes[1]!);
      await client.call('process/terminate', { processId: doomed.process.id });
      await gone(doomed.pids);
      expect(processesWith(spared.seconds).length).toBeGreaterThan(0);
      expect(await client.call('process/terminate', { processId: spared.process.id })).toEqual({ running: true });
      await gone(spared.pids);
    });

    it('outruns a process that forks as fast as it can', async () => {
      await using client = await connect(server.url);
      const seconds = uniqueSeconds();
      const script = `n=0; while [ $n -lt 300 ]; do setsid sleep ${seconds} & n=$((n+1)); done; wait`;
      const process = await client.start({ argv: ['sh', '-c', script] });
      await appeared(seconds, 20);
      await client.call('process/terminate', { processId: process.id });
      await process.closed();
      await gone(processesWith(seconds));
      expect(processesWith(seconds)).toEqual([]);
    });
  });

  it.each(escapes)('a session that ends leaves nothing of $name', async (way) => {
    await using server = await startServer({ args: ['--detached-session-ttl-ms', '0'] });
    const client = await connect(server.url);
    const { pids, seconds } = await escaped(client, way);
    client.cut();
    await gone(pids);
    expect(processesWith(seconds)).toEqual([]);
  });

  it('a session that ends leaves nothing of a process that has exited long before', async () => {
    await using server = await startServer({ args: ['--detached-session-ttl-ms', '0'] });
    const client = await connect(server.url);
    const seconds = uniqueSeconds();
    const process = await client.start({ argv: ['sh', '-c', `setsid sleep ${seconds} > /dev/null 2>&1 & exit 0`] });
    await process.closed();
    const pids = await appeared(seconds);
    client.cut();
    await gone(pids);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'a server stopped by %s leaves nothing behind and exits with 0',
    async (signal) => {
      await using server = await startServer({ args: ['--shutdown-grace-period-ms', '1000'] });
      const client = await connect(server.url);
      const all = await Promise.all(escapes.map((way) => escaped(client, way)));
      expect(await server.stop(signal)).toBe(0);
      for (const { seconds } of all) expect(processesWith(seconds)).toEqual([]);
    },
  );

  it('a server that stops gives processes time to end by themselves', async () => {
    await using server = await startServer({ args: ['--shutdown-grace-period-ms', '60000'] });
    const client = await connect(server.url);
    const file = `/tmp/exec-server-grace-${process.pid}`;
    const script = `trap "echo ended > ${file}; exit 0" TERM; echo ready; while :; do sleep 0.01; done`;
    const child = await client.start({ argv: ['sh', '-c', script] });
    await child.printed('ready');
    expect(await server.stop()).toBe(0);
    expect(await readFile(file, 'utf8')).toBe('ended\n');
    await rm(file);
  });

  it.each(escapes)('a server killed by SIGKILL leaves nothing of $name', async (way) => {
    await using server = await startServer();
    const client = await connect(server.url);
    const { pids } = await escaped(client, way);
    expect(await server.stop('SIGKILL')).toBe('SIGKILL');
    await gone(pids);
  });

  it('a server killed by SIGKILL leaves neither detached sessions nor its own helpers', async () => {
    await using server = await startServer();
    const client = await connect(server.url);
    const { pids } = await escaped(client, escapes[2]!);
    client.cut();
    await client.closed;
    const helpers = childrenOf(server.pid).map(({ pid }) => pid);
    await server.stop('SIGKILL');
    await gone([...pids, ...helpers]);
  });
});
