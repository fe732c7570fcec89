import { deferred, onAbort } from '../../base/index.ts';

/** The result of the work, or of `onAborted` as soon as the signal aborts; the work then goes on, and its result is ignored. */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  onAborted: () => T,
): Promise<T> {
  const aborted = deferred();
  using _listening = onAbort(signal, () => aborted.resolve());
  return await Promise.race([work, aborted.promise.then(onAborted)]);
}
