import { describe, expect, it } from 'vitest';
import { Changes, deferred } from '../../../src/base/index.ts';
import { ConnectionLost, ExecServerClient, type ExecServerClientConnectOptions } from '../../../src/client/index.ts';
import { memoryLinkPair } from '../../../src/link/index.ts';
import { ExecError } from '../../../src/protocol/index.ts';
import { type Link, Peer } from '../../../src/rpc/index.ts';

type Answer = (params: Record<string, unknown>, server: Peer) => unknown;
type Script = Record<string, Answer>;

const info = { shell: { name: 'sh', path: '/bin/sh' }, cwd: 'file:///' };
const start = { argv: ['any'], processId: 'p' };
const output = (seq: number, letter: string) => ({ processId: 'p', seq, stream: 'stdout', chunk: btoa(letter) });

/** A server that says exactly what a test wants it to, also what no real server would. */
class ScriptedServer {
  readonly received: string[] = [];
  readonly peers: Peer[] = [];
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = { initialize: () => ({ sessionId: 's', environmentInfo: info }), ...script };
  }

  connect = async (): Promise<Link> => {
    const [near, far] = memoryLinkPair();
    const peer: Peer = new Peer(far, {
      lane: () => 'ordinary',
      request: (method, params) => this.#answer(method, params, peer),
      notification: (method) => void this.received.push(method),
      violation: (_, error) => void this.received.push(error.message),
    });
    this.peers.push(peer);
    return near;
  };

  client(options?: ExecServerClientConnectOptions): Promise<ExecServerClient> {
    return ExecServerClient.connect(this.connect, { resumeIntervalMs: 1, ...options });
  }

  #answer(method: string, params: unknown, peer: Peer): unknown {
    this.received.push(method);
    const answer = this.#script[method];
    if (!answer) throw new ExecError('methodNotFound', method);
    return answer(params as Record<string, unknown>, peer);
  }
}

async function letters(output: AsyncIterable<{ bytes: Uint8Array }>): Promise<string> {
  let text = '';
  for await (const { bytes } of output) text += String.fromCharCode(...bytes);
  return text;
}

const never = new Promise<never>(() => {});

const ended = { chunks: [], exited: true, exitCode: 0, closed: true, failure: null, sandboxDenied: false };

describe('a client', () => {
  it('sends a request to a silent server where its link has no pings, and connects anew when no answer comes', async () => {
    const server = new ScriptedServer({ 'environment/status': (_, peer) => (peer === server.peers[0] ? never : {}) });
    const connect = async (): Promise<Link> => Object.assign(await server.connect(), { noticesLoss: false });

    await using client = await ExecServerClient.connect(connect, { resumeIntervalMs: 1, probeIntervalMs: 20 });

    const isAsked = () => server.received.filter((method) => method === 'environment/status').length > 4;
    await expect.poll(isAsked).toBe(true); // by then the second connection has answered
    expect({ state: client.state.phase, connections: server.peers.length }).toEqual({ state: 'open', connections: 2 });
  });

  it('does not take a server for lost that answers one request after the other and is busy with one', async () => {
    const server = new ScriptedServer({ 'process/read': () => never, 'environment/status': () => never });
    const connect = async (): Promise<Link> => Object.assign(await server.connect(), { noticesLoss: false });
    await using client = await ExecServerClient.connect(connect, { probeIntervalMs: 1 });

    void client.request('process/read', { processId: 'p', waitMs: 60_000 }).catch(() => {}); // ends with the client
    await new Promise((resolve) => setTimeout(resolve, 100)); // no event tells that nothing is asked

    expect({ received: server.received, connections: server.peers.length }).toEqual({
      received: ['initialize', 'initialized', 'process/read'],
      connections: 1,
    });
  });

  it('takes the events of a process that arrive before the answer to its start, and in any order', async () => {
    const server = new ScriptedServer({
      'process/start': async (_, peer) => {
        await peer.notify('process/output', output(2, 'b'));
        await peer.notify('process/exited', { processId: 'p', seq: 3, exitCode: 1, sandboxDenied: true });
        await peer.notify('process/output', output(1, 'a'));
        await peer.notify('process/output', output(1, 'a'));
        await peer.notify('process/closed', { processId: 'p', seq: 4 });
        return { processId: 'p', sandboxType: 'none' };
      },
    });
    await using client = await server.client();

    const process = await client.start(start);

    expect(await letters(process.output)).toBe('ab');
    expect(process.state).toEqual({ phase: 'closed', exitCode: 1, sandboxDenied: true });
    expect(server.received).toEqual(['initialize', 'initialized', 'process/start']);
  });

  it('reads from the server what never arrived', async () => {
    const server = new ScriptedServer({
      'process/start': async (_, peer) => {
        await peer.notify('process/output', output(1, 'a'));
        await peer.notify('process/closed', { processId: 'p', seq: 4 });
        return { processId: 'p' };
      },
      'process/read': ({ afterSeq }) => {
        expect(afterSeq).toBe(1);
        return { ...ended, chunks: [{ seq: 3, stream: 'stdout', chunk: btoa('b') }], nextSeq: 5, exitCode: 9 };
      },
    });
    await using client = await server.client();

    const process = await client.start(start);

    expect(await letters(process.output)).toBe('ab');
    expect(process.state).toEqual({ phase: 'closed', exitCode: 9, sandboxDenied: false });
  });

  it('fails a process with the missing range when the server no longer has it, after what came before', async () => {
    const server = new ScriptedServer({
      'process/start': async (_, peer) => {
        await peer.notify('process/output', output(1, 'a'));
        await peer.notify('process/closed', { processId: 'p', seq: 9 });
        return { processId: 'p' };
      },
      'process/read': () => ({ ...ended, chunks: [{ seq: 7, stream: 'stdout', chunk: btoa('z') }], nextSeq: 10 }),
    });
    await using client = await server.client();
    const process = await client.start(start);
    const parts: number[] = [];

    const reading = (async () => {
      for await (const { bytes } of process.output) parts.push(...bytes);
    })();

    await expect(reading).rejects.toMatchObject({ name: 'OutputGapError', processId: 'p', from: 2, to: 8 });
    expect(String.fromCharCode(...parts)).toBe('a');
    await expect(process.wait()).rejects.toThrow('events 2 to 8 are no longer kept');
    expect(client.state.phase).toBe('open');
  });

  it('answers requests it does not know, and those it was told to answer', async () => {
    const server = new ScriptedServer({});
    await using plain = await server.client();
    await using deciding = await server.client({ onRequest: () => ({ decision: { type: 'allow' } }) });
    const [first, second] = server.peers;

    await expect(first!.call('network/policyRequest', {})).rejects.toMatchObject({ kind: 'methodNotFound' });
    expect(await second!.call('network/policyRequest', {})).toEqual({ decision: { type: 'allow' } });
    await first!.notify('process/unheardOf', {});
    expect([plain.state.phase, deciding.state.phase]).toEqual(['open', 'open']);
  });

  it('retries while the server still holds the old connection, and takes any other refusal as final', async () => {
    const refusals = [
      new ExecError('sessionAttached', 'session s is already attached to another connection'),
      new ExecError('sessionAttached', 'session s is already attached to another connection'),
      new ExecError('invalidRequest', 'unknown session id s'),
    ];
    const server = new ScriptedServer({
      initialize: ({ resumeSessionId }) => {
        if (resumeSessionId) throw refusals.shift();
        return { sessionId: 's', environmentInfo: info };
      },
    });
    const client = await server.client();

    server.peers[0]!.link.destroy();

    expect((await client.closed).message).toBe(
      'the connection was lost and the session cannot be resumed: unknown session id s',
    );
    expect(server.peers).toHaveLength(4);
  });

  it('repeats a write with the same id, and leaves to the caller what may not be repeated', async () => {
    const writeIds: unknown[] = [];
    let losses = 2;
    const lose = (peer: Peer): Promise<never> => {
      losses--;
      peer.link.destroy();
      return new Promise(() => {});
    };
    const server = new ScriptedServer({
      'process/start': () => ({ processId: 'p' }),
      'process/read': () => ({ ...ended, exited: false, exitCode: null, closed: false, nextSeq: 1 }),
      'process/write': ({ writeId }, peer) => {
        writeIds.push(writeId);
        return losses > 0 ? lose(peer) : { status: 'accepted' };
      },
      'fs/remove': (_, peer) => lose(peer),
    });
    await using client = await server.client();
    const process = await client.start({ ...start, pipeStdin: true });

    await process.write('x');
    const path = client.environmentInfo!.cwd!;

    expect(writeIds).toEqual(['1', '1', '1']);
    await expect(client.request('fs/remove', { path })).rejects.toBeInstanceOf(ConnectionLost);
  });

  it('repeats a start under the same startId where the server knows it', async () => {
    const startIds: unknown[] = [];
    const server = new ScriptedServer({
      initialize: () => ({ sessionId: 's', environmentInfo: { ...info, capabilities: { processStartId: true } } }),
      'process/start': ({ startId }, peer) => {
        startIds.push(startId);
        if (startIds.length > 1) return { processId: 'p', sandboxType: 'none' };
        peer.link.destroy();
        return new Promise(() => {});
      },
      'process/read': () => ({ ...ended, chunks: [{ seq: 1, stream: 'stdout', chunk: btoa('a') }], nextSeq: 4 }),
    });
    await using client = await server.client();

    const process = await client.start(start);

    expect(await letters(process.output)).toBe('a');
    expect(startIds).toEqual([expect.any(String), startIds[0]]);
  });

  it('does not start twice where the server knows no startId, and makes sure nothing is left behind', async () => {
    const server = new ScriptedServer({
      'process/start': (_, peer) => {
        peer.link.destroy();
        return new Promise(() => {});
      },
      'process/read': () => {
        throw new ExecError('invalidRequest', 'unknown process id p');
      },
      'process/terminate': () => ({ running: false }),
    });
    await using client = await server.client();

    await expect(client.start(start)).rejects.toThrow('process p was not started');
    expect(server.received.filter((method) => method.startsWith('process/'))).toEqual([
      'process/start',
      'process/read',
      'process/terminate',
    ]);
  });

  it('ends a process whose start it has given up once it is there, however long its preparations take', async () => {
    const prepared = deferred<void>();
    const running = new Set<unknown>();
    const server = new ScriptedServer({
      'process/start': async ({ processId }) => {
        await prepared.promise;
        running.add(processId);
        return { processId };
      },
      'process/terminate': ({ processId }) => ({ running: running.delete(processId) }),
    });
    await using client = await server.client();
    const stop = new AbortController();

    const started = client.start(start, stop.signal);
    await expect.poll(() => server.received).toContain('process/start');
    stop.abort(new Error('given up'));
    await expect(started).rejects.toThrow('given up');
    await expect.poll(() => server.received).toContain('process/terminate');
    prepared.resolve();

    await expect.poll(() => server.received.filter((method) => method === 'process/terminate').length).toBe(2);
    expect([...running]).toEqual([]);
  });

  it('cannot resume without a session', async () => {
    const server = new ScriptedServer({ initialize: () => ({ environmentInfo: info }) });
    const client = await server.client();

    server.peers[0]!.link.destroy();

    expect((await client.closed).message).toBe('the connection was lost');
    expect(server.peers).toHaveLength(1);
  });

  it('reports a handshake that is not answered', async () => {
    const server = new ScriptedServer({ initialize: () => new Promise(() => {}) });

    await expect(server.client({ initializeTimeoutMs: 5 })).rejects.toThrow('initialize was not answered within 5 ms');
  });

  it('leaves the connection unread while a reader has a megabyte to catch up', async () => {
    const server = new ScriptedServer({ 'process/start': () => ({ processId: 'p' }) });
    await using client = await server.client();
    const process = await client.start(start);
    const flood = new Flood(server.peers[0]!);

    let read = 0;
    let lead = 0;
    for await (const _ of process.output) {
      await new Promise(setImmediate);
      lead = Math.max(lead, flood.sent - ++read);
      if (read === Flood.CHUNKS) break;
    }

    expect(lead).toBeGreaterThan(10);
    expect(lead).toBeLessThan(20);
  });

  it('reads on when an answer is awaited, also by the reader that has the connection unread', async () => {
    const server = new ScriptedServer({
      'process/start': () => ({ processId: 'p' }),
      'environment/status': () => ({ status: 'ready' }),
    });
    await using client = await server.client();
    const process = await client.start(start);
    const flood = new Flood(server.peers[0]!);

    const answers: unknown[] = [];
    for await (const _ of process.output) {
      await flood.until(17);
      answers.push(await client.request('environment/status', null));
      break;
    }

    expect(answers).toEqual([{ status: 'ready' }]);
  });
});

/** A process that prints 64 chunks of 64 KiB as fast as the client takes them. */
class Flood {
  static readonly CHUNKS = 64;
  readonly #changes = new Changes();
  sent = 0;

  constructor(peer: Peer) {
    void this.#run(peer);
  }

  async until(sent: number): Promise<void> {
    while (this.sent < sent) await this.#changes.next();
  }

  async #run(peer: Peer): Promise<void> {
    while (this.sent < Flood.CHUNKS) {
      await peer.notify('process/output', { ...output(this.sent + 1, ''), chunk: btoa('x'.repeat(65_536)) });
      this.sent++;
      this.#changes.notify();
    }
  }
}
