import { describe, expect, it } from 'vitest';
import {
  ConnectionLost,
  ExecServerClient,
  type ExecServerClientConnectOptions,
  type RemoteProcess,
} from '../../src/client/index.ts';
import { webSocket } from '../../src/link/websocket/connect-websocket.ts';
import { CuttableProxy } from './cuttable-proxy.ts';

export interface ListeningServer extends AsyncDisposable {
  readonly url: string;
}

export const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: '/' };
export const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

export function connect(url: string, options?: ExecServerClientConnectOptions): Promise<ExecServerClient> {
  return ExecServerClient.connect(webSocket(url), options);
}

/** The output of a process up to the piece with which it is enough. */
export async function outputUntil(process: RemoteProcess, isEnough: (printed: string) => boolean): Promise<string> {
  let printed = '';
  for await (const { bytes } of process.output) {
    printed += text(bytes);
    if (isEnough(printed)) break;
  }
  return printed;
}

const shell = (script: string) => ({ argv: ['bash', '-c', script], env, cwd: '/' });

/** What the client promises, whichever server it talks to. */
export function describeClient(name: string, startServer: () => Promise<ListeningServer>): void {
  describe(`a client of ${name}`, () => {
    it('learns about the machine when it connects', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);

      expect(client.state).toEqual({ phase: 'open', sessionId: client.sessionId });
      expect(client.environmentInfo).toMatchObject({ platformOs: 'linux', shell: { name: expect.any(String) } });
      expect(client.supports('noSuchThing')).toBe(false);
    });

    it('gets every byte of both streams and the exit code', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const process = await client.start(shell('echo out; echo err >&2; exit 7'));

      const { stdout, stderr, terminal, ...outcome } = await process.communicate();

      expect({ stdout: text(stdout), stderr: text(stderr), terminal: text(terminal), ...outcome }).toEqual({
        stdout: 'out\n',
        stderr: 'err\n',
        terminal: '',
        exitCode: 7,
        sandboxDenied: false,
      });
      expect(client.process(process.processId)).toBeUndefined();
    });

    it('is told why a command cannot be started, and may use its id again', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);

      await expect(client.start({ argv: ['/no/such/program'], processId: 'p' })).rejects.toThrow('No such file');
      const again = await client.start({ ...shell('exit 3'), processId: 'p' });
      expect(await again.wait()).toMatchObject({ exitCode: 3, closed: true });
    });

    it('types into a terminal, ends its input in the middle of a line, and reads what it shows', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const process = await client.start({ ...shell('stty -echo; echo ready; cat'), tty: true });
      await outputUntil(process, (printed) => printed.includes('ready\r\n'));

      const { terminal, exitCode } = await process.communicate('one\ntwo');

      expect({ terminal: text(terminal), exitCode }).toEqual({ terminal: 'one\r\ntwo', exitCode: 0 });
    });

    it('tells the exit of a process from the end of its output', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      await using process = await client.start({
        ...shell('(read x; echo late) <&0 & exit 4'),
        tty: false,
        pipeStdin: true,
      });

      const exited = await process.wait({ until: 'exited' });
      const atOnce = await process.wait({ timeoutMs: 0 });
      await process.terminate();

      expect(exited).toEqual({ exited: true, exitCode: 4, closed: false, sandboxDenied: false, timedOut: false });
      expect(atOnce).toEqual({ exited: true, exitCode: 4, closed: false, sandboxDenied: false, timedOut: true });
    });

    it('loses nothing to a reader that is slow and asks the server for something at every step', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const process = await client.start(shell('seq 1 1000000'));

      const parts: Uint8Array[] = [];
      for await (const { bytes } of process.output) {
        parts.push(bytes);
        if (parts.length % 50 === 0) await client.request('environment/status', null);
      }

      const expected = Array.from({ length: 1_000_000 }, (_, index) => `${index + 1}\n`).join('');
      expect(text(Buffer.concat(parts)) === expected).toBe(true);
    });

    it('keeps the newest output of a process whose output is not read, and reports the rest as lost', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const process = await client.start(shell('head -c 6000000 /dev/zero; echo end'));
      await process.wait();

      const read = async (): Promise<number> => {
        let total = 0;
        for await (const { bytes } of process.output) total += bytes.length;
        return total;
      };
      await expect(read()).rejects.toMatchObject({ name: 'OutputGapError', processId: process.processId, from: 1 });
      const kept = await read();
      expect(kept).toBeLessThanOrEqual(4 * 1024 * 1024);
      expect(kept).toBeGreaterThan(3 * 1024 * 1024);
    });

    it('watches a process in windows until it closes', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const process = await client.start({ ...shell('echo first; read x; echo "got $x"; exit 2'), pipeStdin: true });

      let first = '';
      while (first !== 'first\n') first += text((await process.collect({ yieldMs: 50 })).output);
      const silent = await process.collect({ yieldMs: 1 });
      await process.write('line\n');
      const last = await process.collect({ yieldMs: 60_000 });

      expect({ ...silent, output: text(silent.output) }).toMatchObject({ output: '', running: true, exitCode: null });
      expect({ ...last, output: text(last.output) }).toEqual({
        output: 'got line\n',
        omittedBytes: 0,
        running: false,
        exitCode: 2,
        sandboxDenied: false,
        failure: null,
      });
    });

    it('gives the head and the tail of a window that holds too much', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const process = await client.start(shell('echo start; head -c 100000 /dev/zero; echo stop'));

      const { output, omittedBytes } = await process.collect({ yieldMs: 60_000, maxBytes: 12 });

      expect({ output: text(output), omittedBytes }).toEqual({ output: 'start\n\0stop\n', omittedBytes: 99_999 });
    });

    it('can look at the output without taking it', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      await using process = await client.start({ ...shell('echo out; echo err >&2; read x'), pipeStdin: true });
      await outputUntil(process, (printed) => printed.length === 8);

      const { stdout, stderr, terminal, ...rest } = await process.snapshot();

      expect({ stdout: text(stdout), stderr: text(stderr), terminal: text(terminal), ...rest }).toEqual({
        stdout: 'out\n',
        stderr: 'err\n',
        terminal: '',
        truncated: false,
        omittedBytes: { stdout: 0, stderr: 0, terminal: 0 },
        exitCode: null,
        running: true,
      });
    });

    it('interrupts, terminates and disposes of processes', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const interrupted = await client.start({
        ...shell('trap "exit 9" INT; echo ready; while read x; do :; done'),
        pipeStdin: true,
      });
      for await (const _ of interrupted.output) break;
      const terminated = await client.start({ ...shell('read x'), pipeStdin: true });
      const disposed = await client.start({ ...shell('read x'), pipeStdin: true });

      await interrupted.signal('interrupt');
      const { running } = await terminated.terminate();
      await disposed[Symbol.asyncDispose]();

      expect(await interrupted.wait()).toMatchObject({ exitCode: 9 });
      expect(await terminated.wait()).toMatchObject({ exitCode: 137 });
      expect(disposed.state).toMatchObject({ exitCode: 137 });
      expect(running).toBe(true);
    });

    it('lets a process end by itself within the grace period', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const script = 'trap "exit 5" INT TERM; echo ready; while read x; do :; done';
      const process = await client.start({ ...shell(script), pipeStdin: true });
      for await (const _ of process.output) break;

      await process.terminate({ graceMs: 60_000 });

      expect(await process.wait()).toMatchObject({ exitCode: 5 });
    });

    it('stops waiting when told to', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      await using process = await client.start({ ...shell('read x'), pipeStdin: true });
      const reason = new Error('enough');
      const abort = new AbortController();

      const waits = [
        process.wait({}, abort.signal),
        process.collect({ yieldMs: 60_000 }, abort.signal),
        client.request('process/read', { processId: process.processId, waitMs: 1 }, AbortSignal.abort(reason)),
      ];
      const outcomes = Promise.allSettled(waits);
      abort.abort(reason);

      expect(await outcomes).toEqual(waits.map(() => ({ status: 'rejected', reason })));
    });

    it('works on more requests than may be in flight', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);

      const answers = await Promise.all(Array.from({ length: 3000 }, () => client.request('environment/status', null)));

      expect(answers).toEqual(Array.from({ length: 3000 }, () => ({ status: 'ready' })));
    });

    it('resumes after every cut: each write arrives exactly once, each line comes back exactly once', async () => {
      await using server = await startServer();
      await using proxy = await CuttableProxy.start(server.url);
      await using client = await connect(proxy.url);
      const process = await client.start({ ...shell('while read x; do echo "$x"; done'), pipeStdin: true });
      const { sessionId } = client;

      const lines = Array.from({ length: 400 }, (_, index) => `line ${index}\n`);
      const echoed = outputUntil(process, (printed) => printed.endsWith('line 399\n'));
      for (const [index, line] of lines.entries()) {
        if (index % 23 === 11) proxy.cutAfter(Math.floor(Math.random() * 500) + 1);
        await process.write(line);
      }

      expect(await echoed).toBe(lines.join(''));
      expect(proxy.accepted).toBeGreaterThan(10);
      expect(client.sessionId).toBe(sessionId);
      await process.terminate();
    });

    it('keeps trying while the server cannot be reached, and then learns what happened meanwhile', async () => {
      await using server = await startServer();
      await using proxy = await CuttableProxy.start(server.url);
      await using client = await connect(proxy.url, { resumeIntervalMs: 5 });
      const process = await client.start({ ...shell('read x; echo "got $x"; exit 6'), pipeStdin: true });

      await process.write('it\n');
      proxy.refuse();
      proxy.cut();
      const reading = process.communicate();
      const answer = client.request('environment/status', null);
      await proxy.untilRefused(4);
      expect(client.state.phase).toBe('resuming');
      proxy.accept();

      expect({ ...(await reading), stdout: text((await reading).stdout) }).toMatchObject({
        stdout: 'got it\n',
        exitCode: 6,
      });
      expect(await answer).toEqual({ status: 'ready' });
    });

    it('repeats a start or finds out what became of it when the answer is lost', async () => {
      await using server = await startServer();
      await using proxy = await CuttableProxy.start(server.url);
      await using client = await connect(proxy.url, { resumeIntervalMs: 5 });

      for (let round = 0; round < 10; round++) {
        proxy.cutAfter(1 + round * 20);
        const started = await client.start({ ...shell('echo once; read x'), pipeStdin: true }).catch((error) => error);
        if (started instanceof ConnectionLost) continue;
        expect(await outputUntil(started, (printed) => printed.includes('\n'))).toBe('once\n');
        await started[Symbol.asyncDispose]();
      }
      expect(proxy.accepted).toBeGreaterThan(1);
    });

    it('fails its processes with the reason when the session is gone', async () => {
      await using server = await startServer();
      await using other = await startServer();
      await using proxy = await CuttableProxy.start(server.url);
      await using client = await connect(proxy.url);
      const process = await client.start({ ...shell('echo before; read x'), pipeStdin: true });
      for await (const _ of process.output) break;

      proxy.retarget(other.url);
      proxy.cut();

      const reason = await client.closed;
      expect(reason).toBeInstanceOf(ConnectionLost);
      expect(reason.message).toContain('unknown session id');
      await expect(process.wait()).rejects.toBe(reason);
      await expect(client.request('environment/status', null)).rejects.toBe(reason);
    });

    it('gives up when the server stays away', async () => {
      await using server = await startServer();
      await using proxy = await CuttableProxy.start(server.url);
      await using client = await connect(proxy.url, { resumeTimeoutMs: 200, resumeIntervalMs: 10 });

      proxy.refuse();
      proxy.cut();

      expect(await client.closed).toMatchObject({
        name: 'ConnectionLost',
        message: 'the connection was lost and the session cannot be resumed: recovery timed out after 0.2 s',
      });
    });
  });
}
