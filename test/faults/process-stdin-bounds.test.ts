import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect as connectClient, env, text } from '../support/client-specification.ts';
import { sha256 } from '../support/digest.ts';
import { appeared, eventually, peakMiB, residentMiB, stateOf, uniqueSeconds } from '../support/proc.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { base64, connect, type WireClient } from '../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe('what waits for children that do not read', () => {
  it('is at most 64 MiB of a connection, also in large writes, while everything else goes on', async () => {
    await using client = await connect(server.url);
    const idle = residentMiB(server.pid);
    const piece = Buffer.alloc(20 * MiB, 'a large write\n');
    const chunk = base64(piece);
    const children = await stoppedChildren(client, 12);
    const outcomes = children.map(({ id }) => outcome(client.call('process/write', { processId: id, chunk })));
    const refused = await Promise.all(outcomes.slice(3));
    expect(refused).toEqual(refused.map(() => TOO_MUCH));
    expect(await settled(outcomes)).toBe(9);

    client.socket.ping('still there');
    await once(client.socket, 'pong');
    const other = await client.start({ argv: ['cat'], pipeStdin: true });
    expect(await client.call('process/write', { processId: other.id, chunk: base64('others go on') })).toEqual(
      ACCEPTED,
    );
    await other.printed('others go on');
    expect(await client.call('process/terminate', { processId: children[3]!.id })).toEqual({ running: true });

    for (const { pid } of children.slice(0, 3)) process.kill(pid, 'SIGCONT');
    expect(await Promise.all(outcomes.slice(0, 3))).toEqual([ACCEPTED, ACCEPTED, ACCEPTED]);
    for (const { id, tracked } of children.slice(0, 3)) {
      await client.call('process/closeStdin', { processId: id });
      await tracked.closed();
      expect(tracked.output()).toContain(sha256(piece));
    }
    expect(peakMiB(server.pid) - idle).toBeLessThan(300);
  });

  it('includes writes that are repeated while the first one waits', async () => {
    await using client = await connect(server.url);
    const [child] = await stoppedChildren(client, 1);
    const write = { processId: child!.id, writeId: 'the same', chunk: base64(Buffer.alloc(2 * MiB)) };
    const idle = residentMiB(server.pid);
    const outcomes = Array.from({ length: 200 }, () => client.call('process/write', write));
    await client.call('environment/status');
    expect(residentMiB(server.pid) - idle).toBeLessThan(150);
    process.kill(child!.pid, 'SIGCONT');
    expect(await Promise.all(outcomes)).toEqual(outcomes.map(() => ACCEPTED));
    await client.call('process/closeStdin', { processId: child!.id });
    await child!.tracked.closed();
    expect(child!.tracked.output()).toContain(sha256(Buffer.alloc(2 * MiB)));
  });

  it('refuses no repetition of a write that waits: a client would write the same bytes once more', async () => {
    await using client = await connect(server.url);
    const [child] = await stoppedChildren(client, 1);
    const write = (writeId: string, content: Buffer) =>
      client.call('process/write', { processId: child!.id, writeId, chunk: base64(content) });
    const [first, waiting] = [Buffer.alloc(MiB + 100_000, 'first\n'), Buffer.alloc(60 * 1024, 'waits\n')];
    const outcomes = [outcome(write('first', first))];
    for (let n = 0; n < 1200; n++) outcomes.push(outcome(write('waits', waiting)));
    await client.call('environment/status');
    process.kill(child!.pid, 'SIGCONT');
    expect((await Promise.all(outcomes)).filter((answer) => typeof answer === 'string')).toEqual([]);
    await client.call('process/closeStdin', { processId: child!.id });
    await child!.tracked.closed();
    expect(child!.tracked.output()).toContain(sha256(Buffer.concat([first, waiting])));
  });

  it('includes what is queued for each of many, and a short write to one that reads is taken all the same', async () => {
    await using client = await connect(server.url);
    const chunk = base64(Buffer.alloc(MiB));
    const children = await stoppedChildren(client, 200);
    const outcomes = children.map(({ id }) => outcome(client.call('process/write', { processId: id, chunk })));
    expect(await outcomes.at(-1)).toBe(TOO_MUCH);
    const other = await client.start({ argv: ['cat'], pipeStdin: true });
    const short = base64('x'.repeat(60 * 1024));
    for (let n = 0; n < 10; n++) {
      expect(await client.call('process/write', { processId: other.id, chunk: short })).toEqual(ACCEPTED);
    }
    await client.call('process/closeStdin', { processId: other.id });
    await other.closed();
    expect(other.bytes().length).toBe(600 * 1024);
  });

  it('is nothing that a user of the client meets', async () => {
    await using client = await connectClient(server.url);
    const content = Buffer.alloc(4 * MiB, 'more than is taken at once\n');
    const name = uniqueSeconds();
    const start = (script: string) =>
      client.start({ argv: ['sh', '-c', script, name], env, cwd: '/', pipeStdin: true });
    const children = await Promise.all(Array.from({ length: 100 }, () => start('kill -STOP $$; exec sha256sum')));
    const pids = await appeared(name, 100);
    await eventually('the stop of all', () => pids.every((pid) => stateOf(pid) === 'T'));
    const sums = Promise.all(children.map((child) => child.communicate(content)));

    const quick = await (await start('exec sha256sum')).communicate(content);
    expect(text(quick.stdout)).toContain(sha256(content));

    for (const pid of pids) process.kill(pid, 'SIGCONT');
    for (const { stdout } of await sums) expect(text(stdout)).toContain(sha256(content));
  });
});

const MiB = 1024 * 1024;
const SCRIPT = 'echo $$; kill -STOP $$; exec sha256sum';
const ACCEPTED = { status: 'accepted' };
const TOO_MUCH =
  '67108864 bytes wait for processes of this connection to read their stdin; write again when an earlier write is answered';

async function stoppedChildren(client: WireClient, count: number) {
  const starts = Array.from({ length: count }, async () => {
    const tracked = await client.start({ argv: ['sh', '-c', SCRIPT], pipeStdin: true });
    return { id: tracked.id, tracked, pid: Number(await tracked.printed('\n')) };
  });
  return Promise.all(starts);
}

const outcome = (call: Promise<unknown>): Promise<unknown> => call.catch((error: Error) => error.message);

/** How many of them are settled by now. */
async function settled(outcomes: readonly Promise<unknown>[]): Promise<number> {
  const pending = Symbol();
  const seen = await Promise.all(outcomes.map((result) => Promise.race([result, Promise.resolve(pending)])));
  return seen.filter((result) => result !== pending).length;
}
