import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { numbersTo, sha256 } from '../../support/digest.ts';
import { appeared, gone, isAlive, stateOf, uniqueSeconds } from '../../support/proc.ts';
import { Recovery } from '../../support/recovery.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import type { ReadResult } from '../../support/tracked-process.ts';
import { base64, connectBare, resume } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe('a session', () => {
  it('keeps its processes, their numbers and accepted writes while no client is attached', async () => {
    const first = await connectBare(server.url);
    const sessionId = await first.initialize();
    const process = await first.start({ processId: 'kept', argv: ['cat'], pipeStdin: true });
    await first.call('process/write', { processId: 'kept', writeId: 'w', chunk: base64('one\n') });
    await process.printed('one\n');
    first.cut();
    await first.closed;

    await using second = await resume(server.url, sessionId);
    const again = second.track('kept');
    const read = await second.call<ReadResult>('process/read', { processId: 'kept', afterSeq: 0 });
    expect(read).toMatchObject({ chunks: [{ seq: 1, chunk: base64('one\n') }], nextSeq: 2, exited: false });
    await second.call('process/write', { processId: 'kept', writeId: 'w', chunk: base64('repeated\n') });
    await second.call('process/write', { processId: 'kept', writeId: 'w2', chunk: base64('two\n') });
    await second.call('process/closeStdin', { processId: 'kept' });
    await again.closed();
    expect([again.output(), again.sequence]).toEqual(['two\n', [2, 3, 4]]);
  });

  it('is found by its exit and close although both happened while no client was attached', async () => {
    const first = await connectBare(server.url);
    const sessionId = await first.initialize();
    const seconds = uniqueSeconds();
    await first.start({
      processId: 'p',
      argv: ['sh', '-c', `sleep ${seconds} & read _; kill $!; wait $!; echo bye; exit 3`],
      pipeStdin: true,
    });
    const [pid] = await appeared(seconds);
    await first.call('process/closeStdin', { processId: 'p' });
    first.cut();
    await gone(pid!);

    await using second = await resume(server.url, sessionId);
    const end = await second.call('process/wait', { processId: 'p' });
    expect(end).toMatchObject({ exitCode: 3, closed: true });
    const read = await second.call<ReadResult>('process/read', { processId: 'p' });
    expect(
      Buffer.concat(
        read.chunks.filter(({ stream }) => stream === 'stdout').map(({ chunk }) => Buffer.from(chunk, 'base64')),
      ).toString(),
    ).toBe('bye\n');
  });

  it('makes a process wait when its window is full of bytes that no client has got, and loses none', async () => {
    const first = await connectBare(server.url);
    const sessionId = await first.initialize();
    const start = await first.start({
      processId: 'flood',
      argv: ['sh', '-c', 'echo $$; read _; exec seq 1 1000000'],
      pipeStdin: true,
    });
    const pid = Number(await start.printed('\n'));
    first.socket.pause();
    const answer = first.call('process/write', { processId: 'flood', chunk: base64('\n') });
    first.cut();
    await expect(answer).rejects.toThrow('the connection ended');
    // A writer that sleeps and uses no more CPU is blocked on its pipe.
    await expect.poll(async () => (await cpuStopped(pid)) && stateOf(pid), { timeout: 30_000 }).toBe('S');

    await using second = await resume(server.url, sessionId);
    const recovery = new Recovery(second, 'flood', start.lastSeq);
    await recovery.finish();
    expect(recovery.gaps).toEqual([]);
    const expected = numbersTo(1_000_000);
    expect(sha256(recovery.bytes('stdout'))).toBe(sha256(expected));
  });

  it('keeps what was printed while no client was attached until the client has read it, however much is pushed before', async () => {
    const first = await connectBare(server.url);
    const sessionId = await first.initialize();
    const seconds = uniqueSeconds();
    const mark = `sleep ${seconds} >/dev/null & mark=$!; read _; kill $mark`;
    const script = `read _; echo missed; head -c 500000 /dev/zero; ${mark}; exec seq 1 800000`;
    await first.start({ processId: 'late', argv: ['sh', '-c', script], pipeStdin: true });
    first.socket.pause();
    const answer = first.call('process/write', { processId: 'late', chunk: base64('\n') });
    first.cut();
    await expect(answer).rejects.toThrow('the connection ended');
    await appeared(seconds); // it has printed; to the next client it would count as pushed

    await using second = await resume(server.url, sessionId);
    const pushed = second.track('late');
    await second.call('process/write', { processId: 'late', chunk: base64('\n') });
    await pushed.printed('\n1000\n');
    // Nothing tells that a process is held back; the end that does not come is waited for a while.
    await second.call('process/wait', { processId: 'late', timeoutMs: 1000 });
    const read = await second.call<ReadResult>('process/read', { processId: 'late', maxBytes: 1 });
    expect(read).toMatchObject({ chunks: [{ seq: 1 }], truncated: false });
    const recovery = new Recovery(second, 'late', 1); // the first chunk has been read, and may go
    await recovery.finish();
    const printed = Buffer.concat([Buffer.from('missed\n'), Buffer.alloc(500_000), numbersTo(800_000)]);
    expect(recovery.gaps).toEqual([]);
    const begun = Buffer.from(read.chunks[0]!.chunk, 'base64');
    expect(sha256(Buffer.concat([begun, recovery.bytes()]))).toBe(sha256(printed));
  });

  it('loses nothing when the connection is cut in the middle of a flood', async () => {
    const first = await connectBare(server.url);
    const sessionId = await first.initialize();
    const process = await first.start({ processId: 'cut', argv: ['seq', '1', '800000'] });
    await process.until(() => process.notices.length >= 3);
    first.cut();
    await first.closed;
    const seen = process.bytes();

    await using second = await resume(server.url, sessionId);
    const recovery = new Recovery(second, 'cut', process.lastSeq);
    await recovery.finish();
    const expected = numbersTo(800_000);
    expect(recovery.gaps).toEqual([]);
    expect(sha256(Buffer.concat([seen, recovery.bytes()]))).toBe(sha256(expected));
  });

  it('belongs to one connection at a time', async () => {
    await using first = await connectBare(server.url);
    const sessionId = await first.initialize();
    await using second = await connectBare(server.url);
    await expect(second.initialize({ resumeSessionId: sessionId })).rejects.toMatchObject({
      code: -32010,
      message: `session ${sessionId} is already attached to another connection`,
    });
    const other = await second.initialize();
    expect(other).not.toBe(sessionId);
  });

  it('is free as soon as its client has said goodbye, also when the next connection asks in the same moment', async () => {
    for (const goodbye of ['close frame', 'end of the stream'] as const) {
      await using first = await connectBare(server.url);
      const sessionId = await first.initialize();
      await using second = await connectBare(server.url);

      const resumed = await inOneTurn(server, () => {
        if (goodbye === 'close frame') first.socket.close();
        else first.socket.terminate();
        return second.initialize({ resumeSessionId: sessionId });
      });

      expect(resumed).toBe(sessionId);
    }
  });

  it('goes to the connection that asks for it when the old one is silent, although it is open', async () => {
    await using proxy = await CuttableProxy.start(server.url);
    await using first = await connectBare(proxy.url);
    const sessionId = await first.initialize();
    const process = await first.start({ processId: 'p', argv: ['sh', '-c', 'echo $$; exec sleep 900'] });
    const pid = Number(await process.printed('\n'));
    proxy.silence();

    await using second = await connectBare(server.url);
    expect(await second.initialize({ resumeSessionId: sessionId })).toBe(sessionId);

    proxy.cut(); // the end of the old connection means nothing any more
    expect(await second.call('process/list')).toMatchObject({ processes: [{ processId: 'p', phase: 'running' }] });
    await second.call('process/terminate', { processId: 'p' });
    await gone(pid);
  });

  it('goes to one of those that ask for it at a time', async () => {
    await using proxy = await CuttableProxy.start(server.url);
    await using first = await connectBare(proxy.url);
    const sessionId = await first.initialize();
    proxy.silence();
    await using second = await connectBare(server.url);
    await using third = await connectBare(server.url);

    const outcomes = await Promise.allSettled([
      second.initialize({ resumeSessionId: sessionId }),
      third.initialize({ resumeSessionId: sessionId }),
    ]);

    outcomes.sort((one, other) => one.status.localeCompare(other.status));
    expect(outcomes).toMatchObject([{ value: sessionId }, { reason: { code: -32010 } }]);
  });

  it('is free again when the connection that asked for it has gone before it got it', async () => {
    await using proxy = await CuttableProxy.start(server.url);
    await using first = await connectBare(proxy.url);
    const sessionId = await first.initialize();
    proxy.silence();
    const second = await connectBare(server.url);
    const answer = second.initialize({ resumeSessionId: sessionId });
    second.cut();
    await expect(answer).rejects.toThrow('the connection ended');

    await using third = await connectBare(server.url);
    expect(await third.initialize({ resumeSessionId: sessionId })).toBe(sessionId);
  });

  it('answers what was sent behind a handshake that has to wait', async () => {
    await using proxy = await CuttableProxy.start(server.url);
    await using first = await connectBare(proxy.url);
    const sessionId = await first.initialize();
    proxy.silence();
    await using second = await connectBare(server.url);

    const answer = second.call('initialize', { clientName: 'in one go', resumeSessionId: sessionId });
    second.notify('initialized');
    const list = second.call('process/list');

    expect(await answer).toMatchObject({ sessionId });
    expect(await list).toEqual({ processes: [] });
  });

  it('ends with its processes when no client came back in time', async () => {
    await using hasty = await startServer({ args: ['--detached-session-ttl-ms', '50'] });
    const first = await connectBare(hasty.url);
    const sessionId = await first.initialize();
    const process = await first.start({ argv: ['sh', '-c', 'echo $$; exec sleep 900'] });
    const pid = Number(await process.printed('\n'));
    first.cut();
    await gone(pid);
    await using second = await connectBare(hasty.url);
    await expect
      .poll(() => second.initialize({ resumeSessionId: sessionId }).catch((error) => error))
      .toMatchObject({
        code: -32600,
        message: `unknown session id ${sessionId}`,
      });
  });

  it('ends with its connection where sessions are not kept', async () => {
    await using strict = await startServer({ args: ['--detached-session-ttl-ms=0'] });
    const first = await connectBare(strict.url);
    const sessionId = await first.initialize();
    const process = await first.start({ argv: ['sh', '-c', 'trap "" HUP TERM; echo $$; while :; do sleep 1; done'] });
    const pid = Number(await process.printed('\n'));
    first.cut();
    await gone(pid);
    await using second = await connectBare(strict.url);
    await expect(second.initialize({ resumeSessionId: sessionId })).rejects.toMatchObject({ code: -32600 });
  });

  it('outlives being resumed and left again, each time with the full time to come back', async () => {
    await using patient = await startServer({ args: ['--detached-session-ttl-ms', '2000'] });
    let client = await connectBare(patient.url);
    const sessionId = await client.initialize();
    const process = await client.start({ processId: 'p', argv: ['sh', '-c', 'echo $$; exec sleep 900'] });
    const pid = Number(await process.printed('\n'));
    for (let round = 0; round < 10; round++) {
      client.cut();
      await client.closed;
      client = await resume(patient.url, sessionId);
    }
    expect(isAlive(pid)).toBe(true);
    expect(await client.call('process/terminate', { processId: 'p' })).toEqual({ running: true });
    client.cut();
  });

  it('is unknown under an id that was never given', async () => {
    await using client = await connectBare(server.url);
    await expect(client.initialize({ resumeSessionId: 'made up' })).rejects.toMatchObject({
      code: -32600,
      message: 'unknown session id made up',
    });
  });
});

/** Has the server read everything that is sent meanwhile in one turn of its event loop. */
async function inOneTurn<T>({ pid }: TestServer, send: () => T): Promise<Awaited<T>> {
  process.kill(pid, 'SIGSTOP');
  await expect.poll(() => stateOf(pid)).toBe('T');
  const sent = send();
  await new Promise((resolve) => setTimeout(resolve, 50)); // until loopback has carried it; nothing tells
  process.kill(pid, 'SIGCONT');
  return await sent;
}

async function cpuStopped(pid: number): Promise<boolean> {
  const ticks = async () => (await readFile(`/proc/${pid}/stat`, 'latin1')).split(' ').slice(13, 15).join(' ');
  const before = await ticks();
  await new Promise((resolve) => setTimeout(resolve, 100));
  return (await ticks()) === before;
}
