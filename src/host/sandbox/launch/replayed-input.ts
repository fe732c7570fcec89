import type { ChildInput } from '../../os/index.ts';

/** The input of a child that may be replaced before it has read anything: all writes are repeated to the child that replaces it. */
export class ReplayedInput implements ChildInput {
  readonly #settled: Promise<unknown>;
  readonly #isReplaceable: () => boolean;
  #input: ChildInput;
  /** Copies of all writes: the bytes themselves may be released when they are written. */
  #written: Uint8Array[] = [];
  #isEnded = false;

  /** `settled` resolves when the child has been replaced, or will not be. */
  constructor(input: ChildInput, settled: Promise<unknown>, isReplaceable: () => boolean) {
    this.#input = input;
    this.#settled = settled;
    this.#isReplaceable = isReplaceable;
  }

  get queued(): number {
    return this.#input.queued;
  }

  hasRoom(length: number): boolean {
    return this.#input.hasRoom(length);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (!this.#isReplaceable()) return this.#input.write(bytes);
    this.#written.push(Uint8Array.from(bytes));
    return this.#orReplayed(this.#input.write(bytes));
  }

  async flushed(): Promise<void> {
    return this.#isReplaceable() ? this.#orReplayed(this.#input.flushed()) : this.#input.flushed();
  }

  end(): void {
    this.#isEnded = true;
    this.#input.end();
  }

  /** Repeats everything to the input of the child that replaces the first one. */
  replayTo(input: ChildInput | undefined): void {
    if (!input) return;
    this.#input = input;
    for (const bytes of this.#written) void input.write(bytes).catch(() => {}); // the child has ended, as its exit tells
    if (this.#isEnded) input.end();
  }

  /** The child will not be replaced any more. */
  forget(): void {
    this.#written = [];
  }

  /** A write may fail because the first child is killed: the one that replaces it gets the bytes as well. */
  async #orReplayed(done: Promise<void>): Promise<void> {
    const first = this.#input;
    try {
      await done;
    } catch (error) {
      await this.#settled;
      if (this.#input === first) throw error;
      await this.#input.flushed();
    }
  }
}
