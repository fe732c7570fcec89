import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { serverProgram } from './server.ts';

interface StartOptions {
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** The program itself, if it is not ours. */
  readonly command?: readonly string[];
  readonly cwd?: string;
  /** In a session of its own, and so without a controlling terminal. */
  readonly detached?: boolean;
}

/** A program in the background whose stdin stays open; stopped by disposal. */
export class BackgroundProgram implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #closed: Promise<number | null>;
  #stdout = '';
  #stderr = '';

  constructor({ args, env, command = [process.execPath, serverProgram], cwd, detached = false }: StartOptions) {
    this.#child = spawn(command[0]!, [...command.slice(1), ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached,
      env: { ...process.env, EXEC_SERVER_LOG: 'info', ...env },
      ...(cwd !== undefined && { cwd }),
    });
    this.#child.stdin.on('error', () => {}); // it may end without reading
    this.#closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdout.on('data', (chunk) => {
      this.#stdout += chunk;
    });
    this.#child.stderr.on('data', (chunk) => {
      this.#stderr += chunk;
      this.#child.emit('said');
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get stdin(): Writable {
    return this.#child.stdin;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Resolves with the exit code. */
  get ended(): Promise<number | null> {
    return this.#closed;
  }

  /** The next line on stdout. */
  async line(): Promise<string> {
    const lines = createInterface({ input: this.#child.stdout });
    const [line] = (await Promise.race([once(lines, 'line'), once(this.#child, 'close')])) as [unknown];
    if (typeof line !== 'string') throw new Error(`it ended with ${line} before it said anything:\n${this.#stderr}`);
    return line;
  }

  /** Resolves once its log says so. */
  async logs(text: string): Promise<void> {
    void this.#closed.then(() => this.#child.emit('said'));
    while (!this.#stderr.includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`it ended without ${text}:\n${this.#stderr}`);
      await once(this.#child, 'said');
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal);
    return await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Our registry and rendezvous, with the tokens it made. */
export class RunningRendezvous implements AsyncDisposable {
  readonly url: string;
  readonly #program: BackgroundProgram;

  private constructor(url: string, program: BackgroundProgram) {
    this.url = url;
    this.#program = program;
  }

  static async start(): Promise<RunningRendezvous> {
    const program = new BackgroundProgram({ args: ['rendezvous', '--listen', 'http://127.0.0.1:0'] });
    return new RunningRendezvous(await program.line(), program);
  }

  token(scope: 'executor' | 'harness' | 'admin'): string {
    return new RegExp(`^${scope} token: (\\S+)$`, 'm').exec(this.#program.stderr)![1]!;
  }

  /** Variables that a harness finds the environment with. */
  get harness(): Record<string, string> {
    return { CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: this.token('harness') };
  }

  /** Starts our environment and waits until harnesses can reach it. */
  async environment(id: string, ...args: readonly string[]): Promise<BackgroundProgram> {
    const env = { CODEX_API_KEY: this.token('executor') };
    const program = new BackgroundProgram({ args: [...args, '--remote', this.url, '--environment-id', id], env });
    await program.logs('rendezvous.connected');
    return program;
  }

  /** Throws an environment out, as an operator can: it has to register anew. */
  async expel(id: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.token('admin')}` };
    const { status } = await fetch(`${this.url}/v1/environments/${id}`, { method: 'DELETE', headers });
    if (status >= 300) throw new Error(`the rendezvous refused with ${status}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program[Symbol.asyncDispose]();
  }
}
