import { closeSync } from 'node:fs';
import { receivedNumber, rememberSandbox, streamPair } from '../os/index.ts';

/**
 * A socket whose far end the first process of a sandbox holds (native/reaper.c): when the near end closes, with this process
 * or before, everything in the sandbox is killed. It depends on nothing that a command can change.
 */
export class Leash implements Disposable {
  /** What the first process inherits. */
  readonly farEnd: number;
  readonly #nearEnd: number;
  #open = { near: true, far: true };
  #namespace: bigint | undefined;
  #memory: Disposable | undefined;

  constructor() {
    [this.#nearEnd, this.farEnd] = streamPair();
  }

  /** To be called once the far end is inherited. */
  handedOver(): void {
    if (this.#open.far) closeSync(this.farEnd);
    this.#open.far = false;
  }

  /** Has the family with this mark found by the pid namespace of the sandbox, which its first process tells. */
  holds(mark: bigint): void {
    this.#memory = rememberSandbox(mark, () => {
      this.#namespace ??= this.#open.near ? receivedNumber(this.#nearEnd) : undefined;
      return this.#namespace;
    });
  }

  /** Ends the sandbox. */
  [Symbol.dispose](): void {
    this.#memory?.[Symbol.dispose]();
    this.handedOver();
    if (this.#open.near) closeSync(this.#nearEnd);
    this.#open.near = false;
  }
}
