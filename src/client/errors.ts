import { ExecError } from '../protocol/index.ts';

/** Output of a process that the client did not receive and the server no longer keeps. */
export class OutputGapError extends Error {
  override readonly name = 'OutputGapError';
  readonly processId: string;
  /** First and last missing number, both included. */
  readonly from: number;
  readonly to: number;
  /** How many bytes are missing, where that is known. */
  readonly bytes: number | undefined;

  constructor(processId: string, missing: SeqRange & { readonly bytes?: number }) {
    super(`output of process ${processId} is lost: events ${missing.from} to ${missing.to} are no longer kept`);
    this.processId = processId;
    this.from = missing.from;
    this.to = missing.to;
    this.bytes = missing.bytes;
  }
}

/** A connection to a port has failed, or takes nothing more. */
export class StreamClosedError extends Error {
  override readonly name = 'StreamClosedError';

  constructor(target: { readonly host?: string; readonly port: number } | { readonly path: string }, reason: string) {
    const where = 'path' in target ? target.path : `${target.host ?? 'localhost'} port ${target.port}`;
    super(`the connection to ${where} is closed: ${reason}`);
  }
}

/** Data of a stream that the client did not receive and the server no longer keeps. */
export class StreamGapError extends Error {
  override readonly name = 'StreamGapError';

  constructor(streamId: string, { from, to }: SeqRange) {
    super(`data of stream ${streamId} is lost: events ${from} to ${to} are no longer kept`);
  }
}

/** Consecutive event numbers, both ends included. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** The server lacks the capability that a call needs. */
export class UnsupportedError extends Error {
  override readonly name = 'UnsupportedError';
  readonly capability: string;

  constructor(what: string, capability: string) {
    super(`the server cannot ${what}: it lacks the capability ${capability}`);
    this.capability = capability;
  }
}

/** The server has refused input for a process. */
export class InputRefusedError extends ExecError {
  readonly status: 'unknownProcess' | 'stdinClosed' | 'starting';

  constructor(processId: string, status: InputRefusedError['status']) {
    super('invalidRequest', `process ${processId} ${refusals[status]}`);
    this.status = status;
  }
}

const refusals = {
  unknownProcess: 'is not known to the server',
  stdinClosed: 'does not read stdin: it is closed, or the process was started without pipeStdin and tty',
  starting: 'is still starting',
} as const;
