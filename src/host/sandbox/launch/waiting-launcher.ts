import { closeSync, write, writeSync } from 'node:fs';
import { type Child, type SpawnOptions, spawn, streamPair, unreadBytes } from '../../os/index.ts';
import type { UsableBubblewrap } from './bubblewrap.ts';
import { type LauncherEvent, type LauncherState, nextLauncherState } from './launcher-state.ts';

/** What a launcher must know before it waits. */
export interface WaitingOptions {
  readonly launcher: UsableBubblewrap;
  /** The program for the sandbox, and its arguments. */
  readonly program: readonly string[];
  readonly io: SpawnOptions['io'];
  readonly mark: bigint;
  /** Descriptors from `FIRST_FREE` on. */
  readonly inherit: readonly (number | Uint8Array)[];
  readonly deliverSignal?: SpawnOptions['deliverSignal'];
}

/** The descriptors every launcher finds open: a socket for the program, and one from which the arguments come. */
export const PROGRAM_SOCKET = 3;
export const ARGUMENTS = 4;
export const FIRST_FREE = 5;

/** As many as most views need, and some: a view that needs more gets a launcher of its own. */
export const EMPTY_FILES_WHILE_WAITING = 8;

/** A launcher that is loaded and waits to be told what sandbox to make, so that a client waits for the mounts alone. */
export class WaitingLauncher implements AsyncDisposable {
  readonly child: Child;
  readonly #options: WaitingOptions;
  readonly #ownEnds: { readonly args: number; readonly socket: number };
  readonly #farEnds: { readonly args: number; readonly socket: number };
  #state: LauncherState = { phase: 'idle' };

  constructor(options: WaitingOptions) {
    const [[ownArgs, args], [ownSocket, socket]] = twoPairs();
    this.#options = options;
    this.#ownEnds = { args: ownArgs, socket: ownSocket };
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

  /** Has it make the sandbox. Gives our end of the program's socket, which the caller closes. */
  build(args: Buffer): number {
    this.#apply({ type: 'ordered', bytes: args.length });
    sendAll(this.#ownEnds.args, args);
    return this.#ownEnds.socket;
  }

  /** Whether it has begun to read its order. An order for which the socket has no room is being read as it is sent. */
  get hasTakenOrder(): boolean {
    if (this.#state.phase !== 'ordered' || this.#state.bytes > SOCKET_ROOM) return true;
    return unreadBytes(this.#farEnds.args) !== this.#state.bytes;
  }

  /** Starts another launcher that finds the order of this one, which must have ended without taking it. */
  spawnAnother(options: Pick<WaitingOptions, 'mark' | 'inherit' | 'deliverSignal'>): Child {
    return this.#spawn({ ...this.#options, ...options });
  }

  /** From now on no other can have the order. */
  forgetOrder(): void {
    this.#apply({ type: 'settled' });
  }

  /** One that waits ends by itself when nothing comes any more, also where it may not be killed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#apply({ type: 'ended' });
    await this.child[Symbol.asyncDispose]();
  }

  #spawn({ launcher, program, io, mark, inherit, deliverSignal }: WaitingOptions): Child {
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
    const ends = before === 'idle' ? [this.#ownEnds, this.#farEnds] : [this.#farEnds];
    for (const fd of ends.flatMap(({ args, socket }) => [args, socket])) closeSync(fd);
  }
}

/** Both, or none. */
function twoPairs(): [first: [number, number], second: [number, number]] {
  const first = streamPair();
  try {
    return [first, streamPair()];
  } catch (error) {
    for (const end of first) closeSync(end);
    throw error;
  }
}

/** All of it, and the end. A reader that is gone by then tells so by its exit. */
export function sendAll(socket: number, bytes: Buffer): void {
  if (bytes.length > SOCKET_ROOM) {
    write(socket, bytes, () => closeSync(socket)); // elsewhere, as it may have to wait for the reader
    return;
  }
  try {
    writeSync(socket, bytes);
  } catch {
    // as said
  } finally {
    closeSync(socket);
  }
}

/** What a socket takes before anything reads it. */
export const SOCKET_ROOM = 64 * 1024;
