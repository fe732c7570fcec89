/** Output of a process that the server no longer keeps and this client never saw. */
export class OutputGapError extends Error {
  override readonly name = 'OutputGapError';
  readonly processId: string;
  /** First and last missing number, both included. */
  readonly from: number;
  readonly to: number;

  constructor(processId: string, missing: SeqRange) {
    super(`output of process ${processId} is lost: events ${missing.from} to ${missing.to} are no longer kept`);
    this.processId = processId;
    this.from = missing.from;
    this.to = missing.to;
  }
}

/** Consecutive event numbers, both ends included. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** The server lacks what a call needs; names the capability. */
export class UnsupportedError extends Error {
  override readonly name = 'UnsupportedError';
  readonly capability: string;

  constructor(what: string, capability: string) {
    super(`the server cannot ${what}: it lacks the capability ${capability}`);
    this.capability = capability;
  }
}
