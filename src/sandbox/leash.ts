import { closeSync } from 'node:fs';
import { hangUp, receivedNumber, rememberSandbox, streamPair } from '../os/index.ts';

/**
 * A socket whose far end the first process of a sandbox holds (native/reaper.c): when the near end closes, with this process
 * or before, everything in the sandbox is killed. It depends on nothing that a command can change. What the first process sends
 * stays in the near end: a descriptor that keeps the number of its pid namespace from being given to another one.
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
    this.#memory = rememberSandbox(
      mark,
      () => {
        this.#namespace ??= receivedNumber(this.#nearEnd);
        return this.#namespace;
      },
      () => closeSync(this.#nearEnd),
    );
  }

  /** Ends the sandbox. */
  [Symbol.dispose](): void {
    this.handedOver();
    if (!this.#open.near) return;
    this.#open.near = false;
    hangUp(this.#nearEnd);
    if (this.#memory) this.#memory[Symbol.dispose]();
    else closeSync(this.#nearEnd);
  }
}
