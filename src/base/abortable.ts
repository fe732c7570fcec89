/** Calls `act` when the signal aborts, at once if it has already, and no more once disposed of. */
export function onAbort(signal: AbortSignal | undefined, act: (reason: unknown) => void): Disposable {
  if (!signal) return nothing;
  if (signal.aborted) {
    act(signal.reason);
    return nothing;
  }
  const listener = (): void => act(signal.reason);
  signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
}

const nothing: Disposable = { [Symbol.dispose]: () => {} };

/** The result of the work, or a rejection with the signal's reason as soon as it aborts; then the work's own end is ignored. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const listening = onAbort(signal, reject);
    work.then(resolve, reject).finally(() => listening[Symbol.dispose]());
  });
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, () => resolve()));
}
