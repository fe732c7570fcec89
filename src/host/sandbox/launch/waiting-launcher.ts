import { closeSync, write, writeSync } from 'node:fs';
import { type Child, type SpawnOptions, spawn, streamPair, unreadBytes } from '../../os/index.ts';
import type { UsableBubblewrap } from './bubblewrap.ts';
import { type LauncherEvent, type LauncherState, nextLauncherState } from './launcher-state.ts';

/** The part of a sandbox that a launcher must know before it waits. */
export interface WaitingLauncherOptions {
  readonly launcher: UsableBubblewrap;
  /** The program for the sandbox, and its arguments. */
  readonly program: readonly string[];
  readonly io: SpawnOptions['io'];
  readonly mark: bigint;
  /** Descriptors from `FIRST_FREE` on. */
  readonly inherit: readonly (number | Uint8Array)[];
  readonly deliverSignal?: SpawnOptions['deliverSignal'];
}

/** The descriptors that every launcher inherits: a socket for the program, and a socket from which it reads its arguments. */
export const PROGRAM_SOCKET = 3;
export const ARGUMENTS = 4;
export const FIRST_FREE = 5;

/** More than most views need; a view that needs more gets a launcher of its own. */
export const EMPTY_FILES_WHILE_WAITING = 8;

/** A bubblewrap that is loaded and waits for its arguments, so that a client waits for the mounts alone. */
export class WaitingLauncher implements AsyncDisposable {
  readonly child: Child;
  readonly #options: WaitingLauncherOptions;
  readonly #nearEnds: { readonly args: number; readonly socket: number };
  readonly #farEnds: { readonly args: number; readonly socket: number };
  #state: LauncherState = { phase: 'idle' };

  constructor(options: WaitingLauncherOptions) {
    const [[nearArgs, args], [nearSocket, socket]] = twoPairs();
    this.#options = options;
    this.#nearEnds = { args: nearArgs, socket: nearSocket };
    this.#farEnds = { args, socket };
    try {
      this.child = this.#spawn(options);
    } catch (error) {
      this.#apply({ type: 'ended' });
      throw error;
    }
    void this.child.exited.then(() => this.#apply({ type: 'ended' }));
  }

  get isIdle(): boolean {
    return this.#state.phase === 'idle';
  }

  /** Makes the sandbox. Returns the near end of the program's socket, which the caller closes. */
  build(args: Buffer): number {
    this.#apply({ type: 'ordered', bytes: args.length });
    sendAll(this.#nearEnds.args, args);
    return this.#nearEnds.socket;
  }

  /** Whether the launcher has begun to read its order. An order that is larger than the socket's buffer is read while it is sent. */
  get hasTakenOrder(): boolean {
    if (this.#state.phase !== 'ordered' || this.#state.bytes > SOCKET_ROOM) return true;
    return unreadBytes(this.#farEnds.args) !== this.#state.bytes;
  }

  /** Starts another launcher that reads the order of this one, which must have ended without reading it. */
  spawnAnother(options: Pick<WaitingLauncherOptions, 'mark' | 'inherit' | 'deliverSignal'>): Child {
    return this.#spawn({ ...this.#options, ...options });
  }

  /** From now on no other launcher can get the order. */
  forgetOrder(): void {
    this.#apply({ type: 'settled' });
  }

  /** A launcher that waits ends when its sockets are closed, also where it may not be killed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#apply({ type: 'ended' });
    await this.child[Symbol.asyncDispose]();
  }

  #spawn({ launcher, program, io, mark, inherit, deliverSignal }: WaitingLauncherOptions): Child {
    return spawn({
      argv: [launcher.path, '--args', String(ARGUMENTS), '--', ...program],
      arg0: 'bwrap',
      cwd: '/',
      env: {},
      io,
      mark,
      inherit: [this.#farEnds.socket, this.#farEnds.args, ...inherit],
      deliverSignal,
    });
  }

  #apply(event: LauncherEvent): void {
    const before = this.#state.phase;
    this.#state = nextLauncherState(this.#state, event);
    if (this.#state.phase !== 'over' || before === 'over') return;
    const ends = before === 'idle' ? [this.#nearEnds, this.#farEnds] : [this.#farEnds];
    for (const fd of ends.flatMap(({ args, socket }) => [args, socket])) closeSync(fd);
  }
}

/** Two pairs of sockets, or none if there is no descriptor for one of them. */
function twoPairs(): [first: [number, number], second: [number, number]] {
  const first = streamPair();
  try {
    return [first, streamPair()];
  } catch (error) {
    for (const end of first) closeSync(end);
    throw error;
  }
}

/** Sends bytes and closes the socket. If the launcher has ended, its exit tells. */
export function sendAll(socket: number, bytes: Buffer): void {
  if (bytes.length > SOCKET_ROOM) {
    write(socket, bytes, () => closeSync(socket)); // on another thread, because it may have to wait for the reader
    return;
  }
  try {
    writeSync(socket, bytes);
  } catch {
    // the launcher has ended
  } finally {
    closeSync(socket);
  }
}

/** The bytes that fit into a socket's buffer before they are read. */
export const SOCKET_ROOM = 64 * 1024;
