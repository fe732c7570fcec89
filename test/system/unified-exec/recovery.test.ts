import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ExecBackend, remoteBackend } from '../../../src/agent/unified-exec/index.ts';
import { Changes } from '../../../src/base/index.ts';
import { memoryLinkPair, webSocket } from '../../../src/link/index.ts';
import { ExecError } from '../../../src/protocol/index.ts';
import { type Link, Peer } from '../../../src/rpc/index.ts';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { startServer } from '../../support/server.ts';
import { ExecFixture, untilFile } from './fixture.ts';

interface Started {
  /** Sends a notification about the process. */
  notify(method: string, params: object): Promise<void>;
  output(seq: number, text: string): Promise<void>;
  exited(seq: number, facts?: object): Promise<void>;
  closed(seq: number): Promise<void>;
}

interface Script {
  /** What the server does after it has answered a start. */
  readonly afterStart: (process: Started) => Promise<void>;
  readonly read?: (afterSeq: number) => object;
  readonly write?: () => object;
}

const info = { shell: { name: 'sh', path: '/bin/sh' }, cwd: 'file:///' };

/** A server that says exactly what a test wants it to, also what no real server would. */
class ScriptedServer {
  readonly received: string[] = [];
  readonly changes = new Changes();
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  get backend(): ExecBackend {
    return remoteBackend(async () => this.#accept());
  }

  async untilReceived(method: string): Promise<void> {
    while (!this.received.includes(method)) await this.changes.next();
  }

  #accept(): Link {
    const [near, far] = memoryLinkPair();
    const peer: Peer = new Peer(far, {
      lane: () => 'ordinary',
      request: (method, params) => this.#answer(method, params as { processId: string; afterSeq: number }, peer),
      notification: () => {},
      violation: () => {},
    });
    return near;
  }

  #answer(method: string, params: { processId: string; afterSeq: number }, peer: Peer): unknown {
    this.received.push(method);
    this.changes.notify();
    if (method === 'initialize') return { sessionId: 's', environmentInfo: info };
    if (method === 'process/terminate') return { running: false };
    if (method === 'process/read' && this.#script.read) return this.#script.read(params.afterSeq);
    if (method === 'process/write' && this.#script.write) return this.#script.write();
    if (method !== 'process/start') throw new ExecError('methodNotFound', method);
    setImmediate(() => void this.#script.afterStart(started(peer, params.processId)));
    return { processId: params.processId };
  }
}

function started(peer: Peer, processId: string): Started {
  const notify = async (method: string, params: object): Promise<void> => {
    await peer.notify(method, { processId, ...params });
  };
  return {
    notify,
    output: (seq, text) => notify('process/output', { seq, stream: 'stdout', chunk: btoa(text) }),
    exited: (seq, facts = { sandboxDenied: false }) => notify('process/exited', { seq, exitCode: 0, ...facts }),
    closed: (seq) => notify('process/closed', { seq }),
  };
}

const retained = (facts: object) => ({
  chunks: [],
  exited: false,
  exitCode: null,
  closed: false,
  failure: null,
  sandboxDenied: false,
  ...facts,
});

const over = (server: ScriptedServer) => ExecFixture.open('server', { backends: { box: server.backend } });

describe('a command whose server misbehaves', () => {
  it('is shown once and in order whatever comes twice or too early', async () => {
    const server = new ScriptedServer({
      afterStart: async (process) => {
        await process.output(2, 'b');
        await process.output(1, 'a');
        await process.output(1, 'a');
        await process.exited(3);
        await process.output(4, 'c');
        await process.output(2, 'b');
        await process.closed(5);
      },
    });
    await using box = await over(server);

    expect((await box.run('any')).facts).toMatchObject({ exit_code: 0, output: 'abc', original_token_count: 1 });
    expect(server.received).not.toContain('process/read');
  });

  it('goes on after a piece of output that never came: it is read', async () => {
    const server = new ScriptedServer({
      afterStart: async (process) => {
        await process.output(1, 'a');
        await process.output(3, 'c');
        await server.untilReceived('process/read');
        await process.exited(4);
        await process.closed(5);
      },
      read: (afterSeq) => {
        expect(afterSeq).toBe(1);
        const chunk = (seq: number, text: string) => ({ seq, stream: 'stdout', chunk: btoa(text) });
        return retained({ chunks: [chunk(2, 'b'), chunk(3, 'c')], nextSeq: 4 });
      },
    });
    await using box = await over(server);

    expect((await box.run('any')).facts).toMatchObject({ exit_code: 0, output: 'abc' });
  });

  it('asks whether the sandbox refused something when the exit does not say', async () => {
    const server = new ScriptedServer({
      afterStart: async (process) => {
        await process.output(1, 'denied');
        await process.exited(2, { exitCode: 1 });
        await server.untilReceived('process/read');
        await process.closed(3);
      },
      read: () => retained({ nextSeq: 3, exited: true, exitCode: 1, sandboxDenied: true }),
    });
    await using box = await over(server);

    expect((await box.run('any')).facts).toMatchObject({ exit_code: 1, output: 'denied' });
    expect(server.received.filter((method) => method === 'process/read')).toHaveLength(1);
  });

  it('is lost when its output is, and says so', async () => {
    const server = new ScriptedServer({
      afterStart: async (process) => {
        await process.output(1, 'a');
        await process.closed(9);
      },
      read: () => retained({ nextSeq: 10, exited: true, exitCode: 0, closed: true }),
    });
    await using box = await over(server);

    const { text } = await box.run('any');

    expect(text).toMatch(
      /^exec_command failed: ProcessFailed \{ message: "output of process .* is lost: events 2 to 8/,
    );
    expect(await box.event('ExecCommandEnd')).toMatchObject({
      exit_code: -1,
      status: 'failed',
      stdout: 'a',
      stderr: expect.stringContaining('is lost'),
      aggregated_output: expect.stringMatching(/^a\noutput of process/),
    });
  });

  it.each([
    ['starting', 'write_stdin failed: failed to write to stdin'],
    ['unknownProcess', 'Chunk ID: ID\nWall time: TIME\nOriginal token count: 0\nOutput:\n'],
  ])('answers input it does not take with %s', async (status, text) => {
    const server = new ScriptedServer({ afterStart: async () => {}, write: () => ({ status }) });
    await using box = await over(server);
    const { facts } = await box.run('any', { tty: true, yield_time_ms: 250 });

    expect((await box.type(facts!.session_id!, 'x')).shown).toBe(text);
  });
});

describe('a command whose connection breaks', () => {
  it('is followed to its end when the connection comes back, also when it ended meanwhile', async () => {
    await using server = await startServer();
    await using proxy = await CuttableProxy.start(server.url);
    const backend = remoteBackend(webSocket(proxy.url), { resumeIntervalMs: 5 });
    await using box = await ExecFixture.open('server', { backends: { box: backend } });
    const { facts } = await box.run(`echo one; ${untilFile('go')}; echo two; exit 7`, { yield_time_ms: 250 });

    proxy.refuse();
    proxy.cut();
    await writeFile(join(box.cwd, 'go'), '');
    await proxy.untilRefused(5);
    const poll = box.poll(facts!.session_id!);
    proxy.accept();

    expect((await poll).facts).toMatchObject({ exit_code: 7, output: 'two\n' });
    expect(await box.event('ExecCommandEnd')).toMatchObject({ exit_code: 7, stdout: 'one\ntwo\n' });
  });

  it('fails when it does not come back, and the next command has a new connection', async () => {
    await using server = await startServer();
    await using proxy = await CuttableProxy.start(server.url);
    const backend = remoteBackend(webSocket(proxy.url), { resumeIntervalMs: 5, resumeTimeoutMs: 50 });
    await using box = await ExecFixture.open('server', { backends: { box: backend } });
    const { facts } = await box.run('echo before; sleep 1000', { yield_time_ms: 250 });
    const id = facts!.session_id!;

    const poll = box.poll(id);
    proxy.refuse();
    proxy.cut();
    const { text } = await poll;
    proxy.accept();

    expect(text).toMatch(/^write_stdin failed: Unified exec process failed: .*recovery timed out/);
    expect((await box.poll(id)).text).toBe(`write_stdin failed: Unknown process id ${id}`);
    expect(await box.event('ExecCommandEnd')).toMatchObject({ exit_code: -1, status: 'failed', stdout: 'before\n' });
    expect((await box.run('echo again')).facts).toMatchObject({ exit_code: 0, output: 'again\n' });
  });
});

describe('a flood', () => {
  it('is counted to the last byte, of which the two ends are kept', async () => {
    await using box = await ExecFixture.open('server');
    const bytes = 100_000_000;

    const { facts, text } = await box.run(`head -c ${bytes - 5} /dev/zero | tr '\\0' x; printf ' end\\n'`, {
      yield_time_ms: 30_000,
    });
    const end = await box.event('ExecCommandEnd');

    expect(facts).toMatchObject({ exit_code: 0, original_token_count: bytes / 4 });
    expect(text).toContain(
      `Warning: truncated output (original token count: ${bytes / 4})\n... ${bytes - 1_048_576} bytes omitted ...\n\nxxx`,
    );
    expect(text.endsWith('xxx end\n')).toBe(true);
    expect(end.stdout.length).toBe(1_048_576 + `\n... ${bytes - 1_048_576} bytes omitted ...\n`.length);
    const deltas = box.events.filter(({ type }) => type === 'ExecCommandOutputDelta');
    expect(deltas.length).toBeLessThanOrEqual(10_000);
  });
});
