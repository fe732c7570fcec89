/**
 * Knows which sent messages the peer has received. Every so many bytes, or when asked, it sends a probe; the
 * answer confirms everything sent before that probe.
 */
export class Delivery {
  readonly #sendProbe: (number: number) => void;
  #waiting: { after: number; onDelivered: () => void }[] = [];
  #probes = 0;
  #unprobedBytes = 0;

  constructor(sendProbe: (number: number) => void) {
    this.#sendProbe = sendProbe;
  }

  /** Notes a message that has just been handed to the connection. */
  sent(bytes: number, onDelivered: (() => void) | undefined): void {
    this.#unprobedBytes += bytes;
    if (onDelivered) this.#waiting.push({ after: this.#probes + 1, onDelivered });
    if (this.#unprobedBytes >= PROBE_EVERY_BYTES) this.probe();
  }

  /** Unless nobody waits for what was sent since the last one. */
  probe(): void {
    const last = this.#waiting.at(-1);
    if (last && last.after > this.#probes) this.keepAlive();
  }

  /** Probes in any case: of several pings a peer may answer the newest alone, so an earlier probe can get lost. */
  keepAlive(): void {
    this.#unprobedBytes = 0;
    this.#sendProbe(++this.#probes);
  }

  confirmed(probe: number): void {
    if (probe > this.#probes) return; // a peer may only confirm what was asked
    let ready = 0;
    while (ready < this.#waiting.length && this.#waiting[ready]!.after <= probe) ready++;
    for (const { onDelivered } of this.#waiting.splice(0, ready)) onDelivered();
  }
}

/** Often enough to keep a window of 1 MiB open, seldom enough to cost nothing. */
const PROBE_EVERY_BYTES = 128 * 1024;
