import { frameLength, type OutgoingFrame } from '../wire/frame-transport.ts';
import { RelayError } from '../wire/relay-error.ts';
import { limits } from './limits.ts';

interface SentFrame {
  readonly seq: number;
  readonly frame: OutgoingFrame;
  readonly bytes: number;
  sentAt: number;
  /** How often it was sent. */
  times: number;
  /** Acknowledged by a bit: the peer has it, and a frame before it is missing or the application there is busy. */
  held: boolean;
  /** Was sent again early, because later frames had arrived. */
  sentEarly: boolean;
}

/** Frames that are sent again when they are overdue for the first time; after that, one at a time. */
const BURST = 8;
/** A frame is considered missing when this many later ones have arrived. */
const LATER_FRAMES = 3;

/** Frames that were sent and not acknowledged: bounded, and sent again, byte for byte, when they seem lost. */
export class SendWindow {
  #frames: SentFrame[] = [];
  #bytes = 0;
  #nextSeq = 0;
  #roundTripMs: number | undefined;
  /** When the wait for an acknowledgement began, when the last one came, and how often frames were sent again since. */
  #waitingSince = 0;
  #stuckSince = 0;
  #repeats = 0;

  get hasRoom(): boolean {
    return this.#frames.length < limits.windowFrames && this.#bytes < limits.windowBytes - limits.largeRecordBytes;
  }

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  /** The first number that is not acknowledged. */
  get base(): number {
    return this.#frames[0]?.seq ?? this.#nextSeq;
  }

  /** When frames have to be sent again, if no acknowledgement comes before. */
  get dueAt(): number | undefined {
    return this.isEmpty ? undefined : this.#waitingSince + this.#waitMs;
  }

  sent(seq: number, frame: OutgoingFrame, now: number): void {
    const bytes = frameLength(frame);
    if (this.isEmpty) this.#restart(now);
    this.#frames.push({ seq, frame, bytes, sentAt: now, times: 1, held: false, sentEarly: false });
    this.#bytes += bytes;
    this.#nextSeq = seq + 1;
  }

  /** Notes an acknowledgement, up to `next` and by the bits after it; returns the frames that are evidently missing. */
  acknowledged(next: number, bits: number, now: number): OutgoingFrame[] {
    if (next > this.#nextSeq) throw new RelayError('the peer acknowledges what was never sent');
    if (next > this.base) this.#forget(next, now);
    let later = 0;
    const missing: SentFrame[] = [];
    for (let at = Math.min(this.#frames.length, 32) - 1; at >= 0; at--) {
      const entry = this.#frames[at]!;
      const bit = entry.seq - next;
      if (bit >= 0 && bit < 32 && (bits >>> bit) & 1) entry.held = true;
      if (entry.held) later++;
      else if (later >= LATER_FRAMES && !entry.sentEarly) missing.unshift(entry);
    }
    for (const entry of missing) entry.sentEarly = true;
    return this.#again(missing, now);
  }

  /** The frames to send again because they are overdue. */
  overdue(now: number): OutgoingFrame[] {
    const [oldest] = this.#frames;
    if (!oldest || now < this.dueAt!) return [];
    const isStuck = !oldest.held && now - this.#stuckSince >= limits.stuckMs;
    if (isStuck) throw new RelayError('the peer acknowledges nothing any more');
    const missing = this.#frames.filter(({ held }) => !held).slice(0, this.#repeats === 0 ? BURST : 1);
    this.#repeats++;
    this.#waitingSince = now;
    return this.#again(missing, now);
  }

  /** All frames that the peer lacks, for a new connection. */
  unacknowledged(now: number): OutgoingFrame[] {
    this.#restart(now);
    return this.#again(
      this.#frames.filter(({ held }) => !held),
      now,
    );
  }

  #forget(next: number, now: number): void {
    const count = this.#frames.findIndex(({ seq }) => seq >= next);
    const done = this.#frames.splice(0, count < 0 ? this.#frames.length : count);
    for (const { bytes } of done) this.#bytes -= bytes;
    const last = done.at(-1)!;
    // The round trip is not known from a frame that was sent twice, nor from one that waited at the peer for others.
    if (last.times === 1 && !last.held) this.#noteRoundTrip(now - last.sentAt);
    this.#restart(now);
  }

  #noteRoundTrip(ms: number): void {
    const known = this.#roundTripMs ?? ms;
    this.#roundTripMs = ms > known ? (known + ms) / 2 : known + (ms - known) / 8;
  }

  #restart(now: number): void {
    this.#waitingSince = now;
    this.#stuckSince = now;
    this.#repeats = 0;
  }

  #again(entries: readonly SentFrame[], now: number): OutgoingFrame[] {
    return entries.map((entry) => {
      entry.sentAt = now;
      entry.times++;
      return entry.frame;
    });
  }

  get #waitMs(): number {
    const wait =
      this.#roundTripMs === undefined ? limits.firstResendMs : Math.max(limits.shortestResendMs, 2 * this.#roundTripMs);
    return Math.min(wait * 2 ** this.#repeats, Math.max(wait, limits.longestResendMs));
  }
}
