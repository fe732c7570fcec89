import { closeSync } from 'node:fs';
import { type Denial, limits } from '../../protocol/index.ts';
import { receiveNow, streamPair } from '../os/index.ts';
import { DenialFrames } from './denial-frames.ts';

/** What the sandbox of one process has refused, as its supervisor tells it over a socket. */
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
   * `hides` tells whether the policy keeps a path that is missing in the view from it, `tellsEnd` whether the supervisor says so when
   * it has seen the end of its command: the first process of a sandbox does not, whose end is that of the sandbox.
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

  /** Everything that was refused so far. A supervisor tells before it answers: it is all here when a process has ended. */
  get denials(): readonly Denial[] {
    this.#receive();
    return [...this.#denials.values()];
  }

  /** Whether the supervisor was gone before its command, so that refusals may be missing. */
  get isIncomplete(): boolean {
    this.#receive();
    return this.#tellsEnd && this.#isOver && !this.#frames.ended;
  }

  /** A program that uses a foreign system call interface is killed without asking the supervisor. */
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
      const bytes = receiveNow(this.#nearEnd, room);
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

/** Frames are copied out of it before the next bytes come. */
const room = Buffer.allocUnsafeSlow(64 * 1024);
