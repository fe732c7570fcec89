import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Link, Receiver } from '../rpc/index.ts';
import { StdioLink } from './stdio-link.ts';

export interface StdioConnectOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What to do with the log that the server writes there. */
  readonly stderr?: 'inherit' | 'ignore';
}

/** Starts a server and connects over its stdin and stdout. Its sessions end with it, so they cannot be resumed. */
export function stdio(command: readonly string[], options: StdioConnectOptions = {}) {
  const connect = async (signal: AbortSignal): Promise<Link> => {
    signal.throwIfAborted();
    const { stderr = 'inherit', env, cwd } = options;
    const child = spawn(command[0] ?? '', command.slice(1), {
      stdio: ['pipe', 'pipe', stderr],
      ...(env && { env }),
      ...(cwd !== undefined && { cwd }),
    });
    await once(child, 'spawn').catch((cause: NodeJS.ErrnoException) => {
      const reason = cause.code === 'ENOENT' ? 'command or directory not found (ENOENT)' : cause.message;
      throw new Error(`cannot start ${command[0]}: ${reason}`, { cause });
    });
    return new ChildLink(child);
  };
  return Object.assign(connect, { resumable: false });
}

/** A link to a child process; closed when the child has ended. */
class ChildLink implements Link {
  readonly source: string;
  readonly noticesLoss = true;
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #lines: StdioLink;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#lines = new StdioLink(child.stdout!, child.stdin!);
    this.source = this.#lines.source;
    this.closed = new Promise((resolve) => child.once('close', () => resolve()));
  }

  open(receive: Receiver): void {
    this.#lines.open(receive);
  }

  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    return this.#lines.send(message, onDelivered);
  }

  probe(): void {
    this.#lines.probe();
  }

  /** Ends the input of the server, which then ends its processes and itself. */
  close(): void {
    this.#child.stdin!.end();
    const timer = setTimeout(() => this.destroy(), EXIT_MS);
    void this.closed.then(() => clearTimeout(timer));
  }

  destroy(): void {
    this.#child.kill('SIGKILL');
    this.#lines.destroy();
  }
}

/** How long the server may take to exit before it is killed. */
const EXIT_MS = 2000;
