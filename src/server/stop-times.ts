/** The steps of a stop, in milliseconds after the signal. */
export interface StopTimes {
  /** Processes that have not ended are killed. */
  readonly killMs: number;
  /** Connections are closed, even if clients have not confirmed the last events. */
  readonly closeMs: number;
  /** The server exits, even if something it waits for has not ended. */
  readonly endMs: number;
}

/** A whole stop takes no longer than the grace period; its last part is for closing connections and cleaning up. */
export function stopTimes(graceMs: number): StopTimes {
  const endMs = Math.max(graceMs, LEAST_MS);
  const closing = Math.min(endMs / 4, CLOSING_MS);
  return { killMs: Math.min(graceMs, endMs - closing), closeMs: endMs - closing / 2, endMs };
}

/** A server with a grace period of 0 still needs time to kill processes and to close connections. */
const LEAST_MS = 500;
const CLOSING_MS = 500;
