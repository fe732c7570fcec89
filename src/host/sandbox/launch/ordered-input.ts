import type { Child, ChildInput } from '../../os/index.ts';

/** The input of a child that may be replaced before it has read anything: its successor gets all of it again. */
export class OrderedInput implements ChildInput {
  readonly #mayBeReplaced: () => boolean;
  #input: ChildInput;
  /** Copies of all writes: the bytes themselves may be released when they are written. */
  #written: Uint8Array[] = [];
  #isEnded = false;
  #successor: Promise<ChildInput | undefined> | undefined;

  constructor(input: ChildInput, mayBeReplaced: () => boolean) {
    this.#input = input;
    this.#mayBeReplaced = mayBeReplaced;
  }

  get queued(): number {
    return this.#input.queued;
  }

  hasRoom(length: number): boolean {
    return this.#input.hasRoom(length);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (!this.#mayBeReplaced()) return this.#input.write(bytes);
    this.#written.push(Uint8Array.from(bytes));
    return this.#orSuccessor(this.#input.write(bytes));
  }

  async taken(): Promise<void> {
    return this.#mayBeReplaced() ? this.#orSuccessor(this.#input.taken()) : this.#input.taken();
  }

  end(): void {
    this.#isEnded = true;
    this.#input.end();
  }

  /** The successor, or nothing if there will be none. */
  replaced(child: Promise<Child | undefined>): void {
    this.#successor = child.then((next) => this.#passOn(next?.stdin));
  }

  /** There will be no successor any more. */
  settle(): void {
    if (!this.#successor) this.#written = [];
  }

  #passOn(next: ChildInput | undefined): ChildInput | undefined {
    const written = this.#written;
    this.#written = [];
    if (!next) return undefined;
    this.#input = next;
    for (const bytes of written) void next.write(bytes).catch(() => {}); // it has ended, which its exit tells
    if (this.#isEnded) next.end();
    return next;
  }

  /** What fails because the first child is killed is up to its successor, which has got the bytes as well. */
  async #orSuccessor(done: Promise<void>): Promise<void> {
    try {
      await done;
    } catch (error) {
      const next = await this.#successor;
      if (!next) throw error;
      await next.taken();
    }
  }
}
