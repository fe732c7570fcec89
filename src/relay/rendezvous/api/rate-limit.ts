/** Allows each name a number of events in any span of time. Names without recent events are forgotten. */
export class RateLimit {
  readonly #most: number;
  readonly #spanMs: number;
  readonly #now: () => number;
  /** In the order of their last event. */
  readonly #events = new Map<string, number[]>();

  constructor(most: number, spanMs: number, now: () => number) {
    this.#most = most;
    this.#spanMs = spanMs;
    this.#now = now;
  }

  /** Counts an event, unless there were too many. */
  allows(name: string): boolean {
    const now = this.#now();
    this.#forgetQuiet(now);
    const recent = (this.#events.get(name) ?? []).filter((time) => this.#isRecent(time, now));
    if (recent.length >= this.#most) return false;
    this.#events.delete(name);
    this.#events.set(name, [...recent, now]);
    return true;
  }

  /** Takes back the last event of this name. */
  takeBack(name: string): void {
    const events = this.#events.get(name);
    events?.pop();
    if (events?.length === 0) this.#events.delete(name);
  }

  get size(): number {
    return this.#events.size;
  }

  #forgetQuiet(now: number): void {
    for (const [name, events] of this.#events) {
      if (this.#isRecent(events.at(-1)!, now)) return;
      this.#events.delete(name);
    }
  }

  /** An event in the future was counted before the clock was set back: it counts no more. */
  #isRecent(time: number, now: number): boolean {
    return time <= now && time > now - this.#spanMs;
  }
}
