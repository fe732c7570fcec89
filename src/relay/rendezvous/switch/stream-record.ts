import type { Envelope } from '../../index.ts';

export type Direction = 'toEnvironment' | 'toHarness';

/** What a switch knows of a stream: the number of the next data frame each way, and whether its ends repeat what is lost. */
export class StreamRecord {
  readonly #next: Record<Direction, number> = { toEnvironment: 0, toHarness: 0 };
  readonly #heartbeat: Record<Direction, boolean>;

  constructor(reliable = false) {
    this.#heartbeat = { toEnvironment: reliable, toHarness: reliable };
  }

  /** Both ends send heartbeats, which only those do that acknowledge and repeat. */
  get reliable(): boolean {
    return this.#heartbeat.toEnvironment && this.#heartbeat.toHarness;
  }

  becomeReliable(): void {
    this.#heartbeat.toEnvironment = true;
    this.#heartbeat.toHarness = true;
  }

  /** Takes note of a frame; false if one before it is missing that nobody will repeat. */
  follows(direction: Direction, { body, seq }: Envelope): boolean {
    if (body === 'heartbeat') this.#heartbeat[direction] = true;
    // In the middle only those go on; both ends may have lost their sockets, and this switch what it knew of them.
    if (body === 'resume' && seq) this.becomeReliable();
    if (body !== 'data' || seq === undefined) return true;
    const ahead = (seq - this.#next[direction]) >>> 0; // the plain relay counts on from 0 after 2^32-1
    if (ahead === 0) this.#next[direction] = (seq + 1) >>> 0;
    return ahead === 0 || ahead >= HALF || this.reliable;
  }
}

/** Closer from behind than from ahead: a repetition. */
const HALF = 2 ** 31;
