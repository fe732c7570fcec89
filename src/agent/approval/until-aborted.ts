import { deferred, onAbort } from '../../base/index.ts';

/** The result of the work, or of `gone` as soon as the signal aborts. The work goes on then, and its result is ignored. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, gone: () => T): Promise<T> {
  const aborted = deferred();
  using _listening = onAbort(signal, () => aborted.resolve());
  return await Promise.race([work, aborted.promise.then(gone)]);
}
