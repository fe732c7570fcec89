import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';

/** Whether another write of the key was faster, so its revision has changed. */
export function isConflict(error: unknown): boolean {
  const { StreamWrongLastSequence, StreamWrongLastSequenceUnknown } = JetStreamApiCodes;
  const codes: readonly number[] = [StreamWrongLastSequence, StreamWrongLastSequenceUnknown];
  return error instanceof JetStreamApiError && codes.includes(error.code);
}

/** Whether the bucket is gone. */
export const isMissing = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;

/** Whether a write failed as it does when the bucket is gone: no server took it. */
export const mayBeMissing = (error: unknown): boolean =>
  isMissing(error) || (error instanceof Error && error.name === 'JetStreamNotEnabled');
