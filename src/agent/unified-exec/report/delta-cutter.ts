import { concatBytes } from '../../../base/index.ts';
import { limits } from '../limits.ts';
import { boundaryBefore, incompleteTail } from './lossy-text.ts';

/** Cuts output into pieces of bounded size, none of which ends within a character. */
export class DeltaCutter {
  #carried = new Uint8Array(0) as Uint8Array;

  *cut(bytes: Uint8Array): Generator<Uint8Array> {
    const all = this.#carried.length > 0 ? concatBytes([this.#carried, bytes]) : bytes;
    const whole = all.subarray(0, all.length - incompleteTail(all));
    this.#carried = all.slice(whole.length);
    for (let at = 0; at < whole.length; ) {
      const end = boundaryBefore(whole, at + limits.deltaBytes);
      yield whole.subarray(at, end);
      at = end;
    }
  }

  /** Yields the bytes of a last, incomplete character. */
  *rest(): Generator<Uint8Array> {
    if (this.#carried.length > 0) yield this.#carried;
    this.#carried = new Uint8Array(0);
  }
}
