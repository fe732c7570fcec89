import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { base64, connect, type WireClient } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const type = (client: WireClient, processId: string, text: string) =>
  client.call('process/write', { processId, chunk: base64(text) });

describe('a terminal', () => {
  it('is one stream of 24 rows and 80 columns that all three descriptors share', async () => {
    await using client = await connect(server.url);
    const script = 'stty size; test -t 0 && test -t 1 && test -t 2 && echo all; echo err >&2';
    const process = await client.start({ argv: ['sh', '-c', script], tty: true });
    expect(await process.transcript()).toEqual([
      { event: 'output', stream: 'pty', text: '24 80\r\nall\r\nerr\r\n' },
      { event: 'exited', exitCode: 0 },
      { event: 'closed' },
    ]);
  });

  it('has the size it was asked for and is told when that changes', async () => {
    await using client = await connect(server.url);
    const script = 'trap "stty size; exit" WINCH; stty size; echo ready; while :; do sleep 0.01; done';
    const process = await client.start({
      argv: ['sh', '-c', script],
      tty: undefined,
      io: { type: 'pty', rows: 50, cols: 132 },
    });
    await process.printed('ready');
    expect(await client.call('process/resize', { processId: process.id, rows: 10, cols: 65_535 })).toEqual({});
    await process.closed();
    expect(process.output()).toBe('50 132\r\nready\r\n10 65535\r\n');
  });

  it('refuses sizes that no terminal has, and processes that have no terminal', async () => {
    await using client = await connect(server.url);
    const terminal = await client.start({ argv: ['cat'], tty: true });
    const pipes = await client.start({ argv: ['cat'], pipeStdin: true });
    const resize = (processId: string, rows: number, cols: number) =>
      client.call('process/resize', { processId, rows, cols });
    for (const [rows, cols] of [
      [0, 80],
      [24, 65_536],
      [-1, 80],
      [1.5, 80],
    ] as const) {
      await expect(resize(terminal.id, rows, cols)).rejects.toMatchObject({ code: -32602 });
    }
    await expect(resize(pipes.id, 24, 80)).rejects.toMatchObject({ code: -32602 });
    await expect(resize('nobody', 24, 80)).rejects.toMatchObject({
      code: -32600,
      message: 'unknown process id nobody',
    });
  });

  it('echoes what is typed and ends the input of a reader at closeStdin', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], tty: true });
    await type(client, process.id, 'hello\n');
    await process.printed('hello\r\nhello\r\n');
    expect(await client.call('process/closeStdin', { processId: process.id })).toEqual({ status: 'accepted' });
    expect(await process.exited()).toBe(0);
  });

  it('gives a program that closes its terminal before it ends the time to end by itself', async () => {
    await using client = await connect(server.url);
    for (let round = 0; round < 60; round++) {
      const process = await client.start({ argv: ['cat'], tty: true });
      await client.call('process/closeStdin', { processId: process.id });
      expect(await process.exited()).toBe(0);
    }
  });

  it('goes on when no process has it open for a while', async () => {
    await using client = await connect(server.url);
    const script = 'exec <&- >&- 2>&-; sleep 0.02; exec 1> /dev/tty; echo back; exit 6';
    const process = await client.start({ argv: ['sh', '-c', script], tty: true });
    expect(await process.transcript()).toEqual([
      { event: 'output', stream: 'pty', text: 'back\r\n' },
      { event: 'exited', exitCode: 6 },
      { event: 'closed' },
    ]);
  });

  it('types the end-of-file character that the terminal is set to', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'stty eof ^A; echo set; cat; echo ended'], tty: true });
    await process.printed('set');
    await client.call('process/closeStdin', { processId: process.id });
    await process.closed();
    expect(process.output()).toBe('set\r\nended\r\n');
  });

  it('turns a typed Ctrl-C into an interrupt of the foreground job', async () => {
    await using client = await connect(server.url);
    const process = await client.start({
      argv: ['sh', '-c', 'trap "echo caught; exit 4" INT; echo ready; while :; do sleep 0.01; done'],
      tty: true,
    });
    await process.printed('ready');
    await type(client, process.id, '\x03');
    expect(await process.exited()).toBe(4);
    expect(process.output()).toContain('caught');
  });

  it('delivers everything printed right before the end', async () => {
    await using client = await connect(server.url);
    const script = 'head -c 300000 /dev/zero | tr "\\0" x; printf END';
    const processes = await Promise.all(
      Array.from({ length: 10 }, () => client.start({ argv: ['sh', '-c', script], tty: true })),
    );
    for (const process of processes) {
      await process.closed();
      expect(process.bytes().length).toBe(300_003);
      expect(process.output().endsWith('xEND')).toBe(true);
    }
  });

  it('hangs up on background jobs when it closes, after their last output', async () => {
    await using client = await connect(server.url);
    const script = 'trap "" HUP; (while kill -0 $$ 2> /dev/null; do :; done; echo late) & exit 2';
    const process = await client.start({ argv: ['sh', '-c', script], tty: true });
    expect(await process.transcript()).toEqual([
      { event: 'exited', exitCode: 2 },
      { event: 'output', stream: 'pty', text: 'late\r\n' },
      { event: 'closed' },
    ]);
  });

  it('sets SHELL where the environment has none, and nothing else', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['/usr/bin/env'], tty: true, env: { A: '1' } });
    await process.closed();
    expect(process.output()).toMatch(/^A=1\r\nSHELL=\/[^\r]+\r\n$/);
  });
});
