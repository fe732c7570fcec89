import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { publicProgram } from './public-program.ts';
import { connect } from './wire-client.ts';

/** The command line as it ships. */
export const serverProgram = fileURLToPath(new URL('../../dist/bin/exec-server.cjs', import.meta.url));

export interface TestServerOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** In a session of its own, and so without a controlling terminal. */
  readonly detached?: boolean;
  /** The user it runs as, where the tests run as root. */
  readonly uid?: number;
}

/** A server of our own on a free loopback port, stopped by disposal. */
export class TestServer implements AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
  readonly #log = new EventEmitter();
  readonly #logged = new Map<string, string>();

  constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.process = process;
    if (process.stderr) createInterface({ input: process.stderr }).on('line', (line) => this.#take(line));
  }

  get pid(): number {
    return this.process.pid!;
  }

  /** Sends a signal and waits for the end; the exit code, or the name of the signal that ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | NodeJS.Signals> {
    if (!this.#hasEnded) this.process.kill(signal);
    return this.ended();
  }

  /** Waits for the end of a server that was told to stop. A second signal can end it while Node is exiting. */
  async ended(): Promise<number | NodeJS.Signals> {
    const { process } = this;
    if (!this.#hasEnded) await once(process, 'exit');
    return process.exitCode ?? process.signalCode!;
  }

  get #hasEnded(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  /** Resolves when the server has logged an event; it must have been started with a level that shows it. */
  async logged(event: string): Promise<void> {
    while (!this.#logged.has(event)) await once(this.#log, 'line');
  }

  /** The fields of the newest log line about an event, once there is one. */
  async lineOf(event: string): Promise<Record<string, unknown>> {
    await this.logged(event);
    return JSON.parse(this.#logged.get(event)!) as Record<string, unknown>;
  }

  /** The fields of the next log line about an event, whatever was logged before. */
  async nextLine(event: string): Promise<Record<string, unknown>> {
    const last = this.#logged.get(event);
    while (this.#logged.get(event) === last) await once(this.#log, 'line');
    return this.lineOf(event);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #take(line: string): void {
    const [, level, event = ''] = /"level":"(\w+)","event":"([^"]+)"/.exec(line) ?? [];
    if (level !== 'debug') process.stderr.write(`${line}\n`);
    this.#logged.set(event, line);
    this.#log.emit('line');
  }
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const isAnother = options.uid !== undefined && process.getuid?.() === 0;
  const program = isAnother ? publicProgram() : serverProgram;
  const child = spawn(process.execPath, [program, '--listen', 'ws://127.0.0.1:0', ...(options.args ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.detached && { detached: true }),
    ...(isAnother && { uid: options.uid }),
  });
  return announced(child);
}

/** A server that is told to listen prints its address first. */
export async function announced(child: ChildProcess): Promise<TestServer> {
  const lines = createInterface({ input: child.stdout! });
  const [url] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [unknown];
  if (typeof url !== 'string') throw new Error(`the server ended with ${url} before it printed its address`);
  return new TestServer(url, child);
}

/**
 * A server whose first client has come and gone. What it does in advance when it is first put to work is done, so that
 * from now on nothing of its own begins or ends.
 */
export async function startPreparedServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer({ ...options, env: { ...options.env, EXEC_SERVER_LOG: 'debug' } });
  await prepared(server);
  return server;
}

/** Puts a server that logs everything to work for the first time. */
export async function prepared(server: TestServer): Promise<void> {
  await using client = await connect(server.url);
  await (await client.start({ argv: ['true'] })).closed();
  await server.logged('sandboxes.prepared');
}
