import { deferred, encodeUtf8 } from '../base/index.ts';
import type { Link, Receiver } from '../rpc/index.ts';

/** Two connected links inside one process. */
export function memoryLinkPair(): [Link, Link] {
  const left = new MemoryLink();
  const right = new MemoryLink();
  left.join(right);
  right.join(left);
  return [left, right];
}

class MemoryLink implements Link {
  readonly source = 'JSON-RPC message from exec-server memory link';
  readonly noticesLoss = true;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  #other!: MemoryLink;
  #receive: Receiver | undefined;
  #inbox: QueuedMessage[] = [];
  #busy = false;
  #over = false;

  join(other: MemoryLink): void {
    this.#other = other;
  }

  open(receive: Receiver): void {
    this.#receive = receive;
    void this.#drain();
  }

  /** Resolves when the other side has handled the message: the inbox has at most one message of each sender that waits. */
  send(message: string | Uint8Array, onDelivered?: () => void): Promise<void> {
    if (this.#over) return Promise.resolve();
    return new Promise((resolve) => {
      const bytes = typeof message === 'string' ? encodeUtf8(message) : message;
      this.#other.#inbox.push({ message: bytes, onDelivered, resolve });
      queueMicrotask(() => this.#other.#drain());
    });
  }

  probe(): void {}

  close(): void {
    this.destroy();
  }

  /** Hands over the messages sent from this side, unless the other side is busy, and drops those sent to this side. */
  destroy(): void {
    if (this.#over) return;
    const other = this.#other;
    const last = other.#inbox.splice(0);
    if (!other.#busy) for (const { message } of last) void other.#receive?.(message);
    for (const { resolve } of [...last, ...this.#inbox.splice(0)]) resolve();
    for (const end of [this, other]) {
      end.#over = true;
      end.#closed.resolve();
    }
  }

  async #drain(): Promise<void> {
    if (this.#busy || !this.#receive) return;
    this.#busy = true;
    for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) {
      await this.#receive(next.message);
      if (!this.#over) next.onDelivered?.();
      next.resolve();
    }
    this.#busy = false;
  }
}

interface QueuedMessage {
  readonly message: Uint8Array;
  readonly onDelivered: (() => void) | undefined;
  readonly resolve: () => void;
}
