import { deferred, encodeUtf8 } from '../base/index.ts';
import type { Link, Receiver } from '../rpc/index.ts';

/** Two links joined back to back inside one process. */
export function memoryLinkPair(): [Link, Link] {
  const left = new MemoryLink();
  const right = new MemoryLink();
  left.join(right);
  right.join(left);
  return [left, right];
}

class MemoryLink implements Link {
  readonly source = 'JSON-RPC message from exec-server memory link';
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  #other!: MemoryLink;
  #receive: Receiver | undefined;
  #inbox: { message: Uint8Array; taken: () => void }[] = [];
  #busy = false;
  #over = false;

  join(other: MemoryLink): void {
    this.#other = other;
  }

  open(receive: Receiver): void {
    this.#receive = receive;
    void this.#drain();
  }

  /** Resolves when the other side has taken the message, which bounds the inbox by the number of senders. */
  send(message: string | Uint8Array, onDelivered?: () => void): Promise<void> {
    if (this.#over) return Promise.resolve();
    return new Promise((resolve) => {
      const taken = () => {
        onDelivered?.();
        resolve();
      };
      this.#other.#inbox.push({ message: typeof message === 'string' ? encodeUtf8(message) : message, taken });
      queueMicrotask(() => this.#other.#drain());
    });
  }

  probe(): void {}

  close(): void {
    this.destroy();
  }

  destroy(): void {
    for (const end of [this, this.#other]) {
      end.#over = true;
      for (const { taken } of end.#inbox.splice(0)) taken();
      end.#closed.resolve();
    }
  }

  async #drain(): Promise<void> {
    if (this.#busy || !this.#receive) return;
    this.#busy = true;
    for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) {
      await this.#receive(next.message);
      next.taken();
    }
    this.#busy = false;
  }
}
