/** When the steps of a stop happen, in milliseconds after it was asked for. */
export interface StopTimes {
  /** Processes that have not ended are killed. */
  readonly killMs: number;
  /** Connections are closed, whether or not their clients have heard of everything. */
  readonly closeMs: number;
  /** The server ends, whatever it waits for. */
  readonly endMs: number;
}

/** The grace is all that a stop may take; its last part is for what comes after the processes. */
export function stopTimes(graceMs: number): StopTimes {
  const endMs = Math.max(graceMs, LEAST_MS);
  const closing = Math.min(endMs / 4, CLOSING_MS);
  return { killMs: Math.min(graceMs, endMs - closing), closeMs: endMs - closing / 2, endMs };
}

/** A server without a grace still needs a moment to kill and to say goodbye. */
const LEAST_MS = 500;
const CLOSING_MS = 500;
