import { randomFillSync } from 'node:crypto';

/**
 * Knows which sent messages the peer has received. Every so many bytes, or when asked, it sends a probe; the
 * answer confirms everything sent before that probe. A probe carries a random text, so that only a peer that has
 * received it can answer: memory is given back on that answer.
 */
export class Delivery {
  readonly #sendProbe: (text: string) => void;
  #waiting: { after: number; onDelivered: () => void }[] = [];
  /** Probes without an answer, oldest first. */
  #asked: { number: number; text: string }[] = [];
  #probes = 0;
  #confirmed = 0;
  #unprobedBytes = 0;

  constructor(sendProbe: (text: string) => void) {
    this.#sendProbe = sendProbe;
  }

  /** The number of the newest probe that was answered; 0 before the first. */
  get confirmed(): number {
    return this.#confirmed;
  }

  /** Notes a message that has just been handed to the connection. */
  sent(bytes: number, onDelivered: (() => void) | undefined): void {
    this.#unprobedBytes += bytes;
    if (onDelivered) this.#waiting.push({ after: this.#probes + 1, onDelivered });
    if (this.#unprobedBytes >= PROBE_EVERY_BYTES) this.probe();
  }

  /** Unless the delivery of what was sent since the last one is of no interest. */
  probe(): void {
    const last = this.#waiting.at(-1);
    if (last && last.after > this.#probes) this.keepAlive();
  }

  /** Probes in any case and gives the number: of several pings a peer may answer the newest alone. */
  keepAlive(): number {
    this.#unprobedBytes = 0;
    const probe = { number: ++this.#probes, text: randomTexts.next() };
    this.#asked.push(probe);
    if (this.#asked.length > MOST_ASKED) this.#asked.shift(); // a later answer confirms it as well
    this.#sendProbe(probe.text);
    return probe.number;
  }

  /** Takes the text of an answer; one that belongs to no open probe confirms nothing. */
  answered(text: string): void {
    const at = this.#asked.findIndex((probe) => probe.text === text);
    if (at < 0) return;
    const { number } = this.#asked[at]!;
    this.#asked.splice(0, at + 1);
    this.#confirmed = number;
    let ready = 0;
    while (ready < this.#waiting.length && this.#waiting[ready]!.after <= number) ready++;
    for (const { onDelivered } of this.#waiting.splice(0, ready)) onDelivered();
  }
}

const RANDOM_BYTES = 8;

/** Random bytes are made for many texts at a time: one call costs as much for one text as for all of them. */
class RandomTexts {
  readonly #pool = Buffer.alloc(512 * RANDOM_BYTES);
  #used = this.#pool.length;

  next(): string {
    if (this.#used === this.#pool.length) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    this.#used += RANDOM_BYTES;
    return this.#pool.toString('hex', this.#used - RANDOM_BYTES, this.#used);
  }
}

const randomTexts = new RandomTexts();

/** Often enough to keep a window of 1 MiB open, seldom enough to cost nothing. */
const PROBE_EVERY_BYTES = 128 * 1024;
/** A peer that answers none of so many probes answers the newest, or is dropped. */
const MOST_ASKED = 1024;
