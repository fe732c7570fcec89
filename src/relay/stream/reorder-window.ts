import type { RelayData } from '../wire/frame.ts';
import { RelayError } from '../wire/relay-error.ts';
import { limits } from './limits.ts';

/** Puts the records of one direction in order, before anything is decrypted. */
export class ReorderWindow {
  readonly #limitBytes: number;
  readonly #waiting = new Map<number, RelayData>();
  #bytes = 0;
  #next = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** The number of the record that is to be taken next; all before it have been. */
  get next(): number {
    return this.#next;
  }

  /** Whether later records are here, but not the next. */
  get hasGap(): boolean {
    return this.#waiting.size > 0 && !this.#waiting.has(this.#next);
  }

  /** Bit i tells whether record `next + i` is waiting here. */
  get waitingBits(): number {
    if (this.#waiting.size === 0) return 0;
    let bits = 0;
    for (let i = 0; i < 32; i++) if (this.#waiting.has(this.#next + i)) bits |= 1 << i;
    return bits >>> 0;
  }

  /** Whether the record is new; of two with the same number the first counts. */
  add(record: RelayData): boolean {
    const { seq, payload } = record;
    if (seq < this.#next || this.#waiting.has(seq)) return false;
    const distance = seq - this.#next;
    if (distance > limits.reorderFrames) throw new RelayError(`record is ${distance} ahead of the one expected`);
    if (distance > 0 && this.#bytes + payload.length > this.#limitBytes) {
      throw new RelayError(`more than ${this.#limitBytes} bytes wait for a missing record`);
    }
    this.#waiting.set(seq, record);
    this.#bytes += payload.length;
    return true;
  }

  /** The next record, if it is here. */
  take(): RelayData | undefined {
    const record = this.#waiting.get(this.#next);
    if (!record) return undefined;
    this.#waiting.delete(this.#next++);
    this.#bytes -= record.payload.length;
    return record;
  }

  /** Makes another record the next, where the order of arrival counts. */
  skipTo(seq: number): void {
    this.#next = seq;
  }
}
