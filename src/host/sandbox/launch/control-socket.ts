import { close, closeSync } from 'node:fs';
import { receivedNumber, rememberSandbox, sendToSocket, shutDown, streamPair } from '../../os/index.ts';

/**
 * A socket whose far end the first process of a sandbox holds (native/stage/reaper.c): when the near end closes, with this process
 * or before, everything in the sandbox is killed, whatever commands have changed. Signals are sent through it. The first process
 * sends two descriptors, which stay in the near end: one keeps the number of its pid namespace from being given to another one, the
 * other keeps its mounts until its end is known here. Closing them unmounts, which another thread does.
 */
export class ControlSocket implements Disposable {
  #ends: { readonly near: number; readonly far: number } | undefined;
  #open = { near: false, far: false };
  #namespace: bigint | undefined;
  #memory: Disposable | undefined;

  /** The end for the first process to inherit. Makes the socket: where a launcher waits, it has one already. */
  get farEnd(): number {
    if (!this.#ends) {
      const [near, far] = streamPair();
      this.#ends = { near, far };
      this.#open = { near: true, far: true };
    }
    return this.#ends.far;
  }

  /** To be called once the far end is inherited. */
  handedOver(): void {
    if (this.#open.far) closeSync(this.#ends!.far);
    this.#open.far = false;
  }

  /** Has the family with this mark found by the pid namespace of the sandbox, which the first process sends. */
  rememberFamily(mark: bigint): void {
    const { near } = this.#ends!;
    this.#memory = rememberSandbox(
      mark,
      () => {
        this.#namespace ??= receivedNumber(near);
        return this.#namespace;
      },
      () => close(near, () => {}),
    );
  }

  /** Has the first process signal the process group of the command; false if the sandbox has ended, or the socket is full. */
  signal(signal: number): boolean {
    try {
      return this.#open.near && sendToSocket(this.#ends!.near, Buffer.of(signal)) > 0;
    } catch {
      return false; // the first process has ended
    }
  }

  /** Ends the sandbox. */
  [Symbol.dispose](): void {
    this.handedOver();
    if (!this.#open.near) return;
    this.#open.near = false;
    const { near } = this.#ends!;
    shutDown(near);
    if (this.#memory) this.#memory[Symbol.dispose]();
    else closeSync(near);
  }
}
