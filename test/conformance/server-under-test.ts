import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

export interface ServerOptions {
  /** A shell command line; the arguments are appended. */
  command: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
}

/** One run of the server. */
export class ServerUnderTest implements AsyncDisposable {
  readonly child: ChildProcess;
  /** What it wrote to stderr. */
  log = '';

  private constructor(child: ChildProcess) {
    this.child = child;
    child.stderr?.on('data', (data) => {
      this.log += data;
    });
    child.stdin?.on('error', () => {}); // the server may end before it has read everything
  }

  static start({ command, args, cwd, env }: ServerOptions): ServerUnderTest {
    const line = `exec ${[command, ...args.map(quoted)].join(' ')}`;
    return new ServerUnderTest(spawn('/bin/sh', ['-c', line], { cwd, env, stdio: 'pipe' }));
  }

  /** The address it announces on stdout. */
  async url(): Promise<string> {
    if (!this.child.stdout) throw new Error('the server has no standard output');
    const lines = createInterface({ input: this.child.stdout });
    const announced = once(lines, 'line').then(([line]) => String(line));
    const ended = once(this.child, 'exit').then(() => Promise.reject(new Error(`the server ended\n${this.log}`)));
    ended.catch(() => {}); // once the address was announced, an end is no error
    return await Promise.race([announced, ended]);
  }

  /** Its exit code, once it has ended. */
  async ended(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGTERM');
    const insist = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await this.ended();
    clearTimeout(insist);
    if (this.child.signalCode === 'SIGKILL') throw new Error('the server did not end when it was told to');
  }
}
