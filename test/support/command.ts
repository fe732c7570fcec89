import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { serverProgram } from './server.ts';
import { WireClient } from './wire-client.ts';

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line to its end. */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<Outcome> {
  const child = spawn(process.execPath, [serverProgram, ...args], { env: { ...process.env, ...env } });
  child.stdin.on('error', () => {}); // it may end without reading
  child.stdin.end(input);
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/** Starts a server on loopback; `stop` tells all it printed, its address included. */
export async function startWatched(): Promise<{ url: string; stop(): Promise<Outcome> }> {
  const child = spawn(process.execPath, [serverProgram]);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const outcome = Promise.all([text(child.stdout), text(child.stderr)]);
  const url = await new Promise<string>((resolve) => child.stdout.once('data', (line) => resolve(String(line).trim())));
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      const [stdout, stderr] = await outcome;
      return { code: await ended, stdout, stderr };
    },
  };
}

/** A server on pipes; closing its input ends it. */
export class StdioServer extends WireClient {
  readonly pid: number;
  /** What it wrote to stderr, once it has ended. */
  readonly stderr: Promise<string>;
  readonly #endInput: (last?: string) => void;

  constructor(args: readonly string[] = []) {
    const child = spawn(process.execPath, [serverProgram, '--listen', 'stdio', ...args]);
    super({
      send: (message) => child.stdin.write(`${message}\n`),
      cut: () => child.kill('SIGKILL'),
      closed: new Promise((resolve) => child.once('close', (code) => resolve(code ?? -1))),
    });
    this.pid = child.pid!;
    this.stderr = text(child.stderr);
    this.#endInput = (last) => (last === undefined ? child.stdin.end() : child.stdin.end(last));
    child.stdin.on('error', () => {}); // it has ended
    createInterface({ input: child.stdout }).on('line', (line) => this.receive(line));
  }

  /** Ends the input, after a last line without its end if one is given; resolves with the exit code. */
  async end(last?: string): Promise<number> {
    this.#endInput(last);
    return this.closed;
  }
}
