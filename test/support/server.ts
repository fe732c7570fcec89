import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The command line as it ships. */
export const serverProgram = fileURLToPath(new URL('../../dist/bin/exec-server.cjs', import.meta.url));

export interface TestServerOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** A server of our own on a free loopback port, stopped by disposal. */
export class TestServer implements AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;

  constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.process = process;
  }

  get pid(): number {
    return this.process.pid!;
  }

  /** Sends a signal and waits for the end; the exit code, or the name of the signal that ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | NodeJS.Signals> {
    const { process } = this;
    if (process.exitCode === null && process.signalCode === null) {
      process.kill(signal);
      await once(process, 'exit');
    }
    return process.exitCode ?? process.signalCode!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const child = spawn(process.execPath, [serverProgram, '--listen', 'ws://127.0.0.1:0', ...(options.args ?? [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  const lines = createInterface({ input: child.stdout! });
  const [url] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [unknown];
  if (typeof url !== 'string') throw new Error(`the server ended with ${url} before it printed its address`);
  return new TestServer(url, child);
}
