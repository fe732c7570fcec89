import type { ClientAudience } from '../stream/index.ts';

/** Receives the events of a process. */
export interface ProcessAudience extends ClientAudience {
  /** Whether the client has asked for the refusals of sandboxes. */
  readonly wantsDenials: boolean;
  /** Whether the client has asked to be told more about the end of processes than the reference tells. */
  readonly wantsEndings: boolean;
}
