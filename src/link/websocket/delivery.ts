import { randomFillSync } from 'node:crypto';

/**
 * Finds out which messages the peer has received. It sends a probe (a ping) every 128 KiB and on request; the answer (the
 * pong) confirms all messages sent before that probe. Memory is freed on an answer, so a probe has a random text, which only a
 * peer that has received it can send back.
 */
export class Delivery {
  readonly #sendProbe: (text: string) => void;
  #waiting: { after: number; onDelivered: () => void }[] = [];
  /** Probes without an answer, oldest first. */
  #unanswered: { number: number; text: string }[] = [];
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

  /** Called after a message was handed to the connection. */
  sent(bytes: number, onDelivered: (() => void) | undefined): void {
    this.#unprobedBytes += bytes;
    if (onDelivered) this.#waiting.push({ after: this.#probes + 1, onDelivered });
    if (this.#unprobedBytes >= PROBE_EVERY_BYTES) this.probe();
  }

  /** Sends a probe if a message sent after the last one has an `onDelivered`. */
  probe(): void {
    const last = this.#waiting.at(-1);
    if (last && last.after > this.#probes) this.probeNow();
  }

  /** Sends a probe and gives its number. A peer may answer only the newest of several pings. */
  probeNow(): number {
    this.#unprobedBytes = 0;
    const probe = { number: ++this.#probes, text: randomTexts.next() };
    this.#unanswered.push(probe);
    if (this.#unanswered.length > MOST_UNANSWERED) this.#unanswered.shift();
    this.#sendProbe(probe.text);
    return probe.number;
  }

  /** Called with the text of an answer; a text that no unanswered probe has is ignored. */
  answered(text: string): void {
    const at = this.#unanswered.findIndex((probe) => probe.text === text);
    if (at < 0) return;
    const { number } = this.#unanswered[at]!;
    this.#unanswered.splice(0, at + 1);
    this.#confirmed = number;
    let ready = 0;
    while (ready < this.#waiting.length && this.#waiting[ready]!.after <= number) ready++;
    for (const { onDelivered } of this.#waiting.splice(0, ready)) onDelivered();
  }
}

const RANDOM_BYTES = 8;

/** Random texts, generated 512 at a time: the system call costs as much for one as for all. */
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
/** Older probes are forgotten: the answer to a later one confirms them, too. */
const MOST_UNANSWERED = 1024;
