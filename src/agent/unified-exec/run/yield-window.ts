import { Changes } from '../../../base/index.ts';
import { limits } from '../limits.ts';

/** How long `exec_command` waits for its command. */
export function startYieldMs(asked: number | undefined, platformOs?: string | null): number {
  const floor = platformOs === 'windows' ? limits.windowsStartYieldMs : limits.shortestYieldMs;
  return clamp(asked ?? limits.startYieldMs, floor, limits.longestYieldMs);
}

/** How long `write_stdin` waits: briefly after input, longer when it only asks for output. */
export function inputYieldMs(asked: number | undefined, hasInput: boolean, longestPollMs: number): number {
  const wanted = Math.max(asked ?? limits.inputYieldMs, limits.shortestYieldMs);
  if (hasInput) return Math.min(wanted, limits.longestYieldMs);
  return clamp(wanted, limits.shortestPollMs, Math.max(longestPollMs, limits.shortestPollMs));
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** A time limit that is suspended while the user is asked. */
export class YieldWindow {
  readonly changes: Changes;
  readonly #startedAt = performance.now();
  readonly #lengthMs: number;
  #questions = 0;
  #askedAt = 0;
  #askedMs = 0;

  /** Notifies `changes` when the time resumes, so that waiters see the new remaining time. */
  constructor(lengthMs: number, changes = new Changes()) {
    this.#lengthMs = lengthMs;
    this.changes = changes;
  }

  /** The time since the window opened, questions included. */
  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** The time that is left; infinite while the window is suspended. */
  get remainingMs(): number {
    if (this.#questions > 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#lengthMs + this.#askedMs - this.elapsedMs);
  }

  pause(): void {
    if (this.#questions++ === 0) this.#askedAt = performance.now();
  }

  resume(): void {
    if (this.#questions === 0 || --this.#questions > 0) return;
    this.#askedMs += performance.now() - this.#askedAt;
    this.changes.notify();
  }
}
