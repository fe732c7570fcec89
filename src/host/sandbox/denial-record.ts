import { closeSync } from 'node:fs';
import { type Denial, limits } from '../../protocol/index.ts';
import { receiveNow, streamPair } from '../os/index.ts';
import { DenialFrames } from './denial-frames.ts';

/** The calls that the sandbox of one process has refused, as its supervisor reports them over a socket. */
export class DenialRecord implements Disposable {
  /** The supervisor's end of the socket. */
  readonly farEnd: number;
  readonly #nearEnd: number;
  readonly #hides: (path: string) => boolean;
  readonly #frames = new DenialFrames();
  readonly #denials = new Map<string, Denial>();
  readonly #open = { near: true, far: true };
  readonly #tellsEnd: boolean;
  #isOver = false;

  /**
   * `hides` tells whether a path is missing in the view because of the policy. With `tellsEnd` the supervisor sends a last frame when
   * its command has ended; the first process of a sandbox sends none, as the sandbox ends with it.
   */
  constructor(hides: (path: string) => boolean, { tellsEnd = false } = {}) {
    [this.#nearEnd, this.farEnd] = streamPair();
    this.#hides = hides;
    this.#tellsEnd = tellsEnd;
  }

  /** To be called once the supervisor has inherited its end. */
  handedOver(): void {
    if (this.#open.far) closeSync(this.farEnd);
    this.#open.far = false;
  }

  /** All refusals so far. A supervisor reports a call before it answers it, so that none is missing when a process has ended. */
  get denials(): readonly Denial[] {
    this.#receive();
    return [...this.#denials.values()];
  }

  /** Whether the supervisor ended before its command, so that refusals may be missing. */
  get isIncomplete(): boolean {
    this.#receive();
    return this.#tellsEnd && this.#isOver && !this.#frames.ended;
  }

  /** Adds a program that used a foreign system call interface: the kernel kills it without asking the supervisor. */
  addKilled(program: string): void {
    this.#add({ kind: 'syscall', program });
  }

  [Symbol.dispose](): void {
    this.#receive();
    this.handedOver();
    if (this.#open.near) closeSync(this.#nearEnd);
    this.#open.near = false;
  }

  #receive(): void {
    if (!this.#open.near) return;
    for (;;) {
      const bytes = receiveNow(this.#nearEnd, receiveBuffer);
      this.#isOver = bytes === undefined;
      if (!bytes?.length) return;
      if (this.#frames.broken) return;
      for (const { denial, missing } of this.#frames.push(bytes)) {
        if (missing === undefined || this.#hides(missing)) this.#add(denial);
      }
    }
  }

  #add(denial: Denial): void {
    if (this.#denials.size < limits.denialsPerProcess) this.#denials.set(JSON.stringify(denial), denial);
  }
}

/** Shared by all records: frames are copied from it before the next call. */
const receiveBuffer = Buffer.allocUnsafeSlow(64 * 1024);
