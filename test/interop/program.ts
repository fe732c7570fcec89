import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { deferred } from '../../src/base/index.ts';

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface ProgramOptions {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

const graceMs = 3_000;

/** A child in a process group of its own; disposing it ends the whole group. */
export class Program implements AsyncDisposable {
  readonly #exited = deferred();
  readonly #ended = deferred<Ending>();
  readonly #child: ChildProcess;
  #stderr = '';

  constructor({ argv: [command, ...args], cwd, env }: ProgramOptions, stdin: 'ignore' | 'pipe' = 'ignore') {
    this.#child = spawn(command, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe'], detached: true });
    this.#child.on('error', (error) => {
      this.#stderr += `${error.message}\n`;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.#child.on('exit', () => this.#exited.resolve());
    // Comes after everything printed has been read; also when the program could not be started at all.
    this.#child.on('close', (code, signal) => {
      this.#exited.resolve();
      this.#ended.resolve({ code, signal });
    });
  }

  get ended(): Promise<Ending> {
    return this.#ended.promise;
  }

  get stderr(): string {
    return this.#stderr;
  }

  onLine(listener: (line: string) => void): void {
    createInterface({ input: this.#child.stdout! }).on('line', listener);
  }

  writeLine(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    process.kill(-pid, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGTERM');
    const insist = setTimeout(() => this.kill(), graceMs);
    await this.#exited.promise;
    clearTimeout(insist);
    // A descendant that outlives the group may hold these open for ever.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    await this.ended;
  }
}
