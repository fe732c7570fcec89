import type { Envelope } from '../../index.ts';

export type Direction = 'toEnvironment' | 'toHarness';

/** The number of the next data frame of a stream each way, and whether its ends resend lost frames (then the stream is reliable). */
export class StreamRecord {
  readonly #next: Record<Direction, number> = { toEnvironment: 0, toHarness: 0 };
  readonly #heartbeat: Record<Direction, boolean>;

  constructor(reliable = false) {
    this.#heartbeat = { toEnvironment: reliable, toHarness: reliable };
  }

  /** Both ends send heartbeats. Only ends that acknowledge and resend do. */
  get reliable(): boolean {
    return this.#heartbeat.toEnvironment && this.#heartbeat.toHarness;
  }

  becomeReliable(): void {
    this.#heartbeat.toEnvironment = true;
    this.#heartbeat.toHarness = true;
  }

  /** Counts a frame; false if one before it is missing and will not be resent. */
  follows(direction: Direction, { body, seq }: Envelope): boolean {
    if (body === 'heartbeat') this.#heartbeat[direction] = true;
    // Only reliable ends resume a stream in its middle. This node may have lost its record of it together with their sockets.
    if (body === 'resume' && seq) this.becomeReliable();
    if (body !== 'data' || seq === undefined) return true;
    const ahead = (seq - this.#next[direction]) >>> 0; // the plain relay counts on from 0 after 2^32-1
    if (ahead === 0) this.#next[direction] = (seq + 1) >>> 0;
    return ahead === 0 || ahead >= HALF || this.reliable;
  }
}

/** A number closer to this from behind than from ahead repeats an earlier frame. */
const HALF = 2 ** 31;
