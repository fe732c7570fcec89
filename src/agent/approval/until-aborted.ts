/** The result of the work, or of `gone` as soon as the signal aborts. The work goes on then, and its result is ignored. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, gone: () => T): Promise<T> {
  if (!signal) return work;
  let onAbort = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) resolve();
  });
  try {
    return await Promise.race([work, aborted.then(gone)]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
