/** Calls `act` when the signal aborts, at once if it has aborted already. Disposal removes the listener. */
export function onAbort(signal: AbortSignal | undefined, act: (reason: unknown) => void): Disposable {
  if (!signal) return noListener;
  if (signal.aborted) {
    act(signal.reason);
    return noListener;
  }
  const listener = (): void => act(signal.reason);
  signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
}

const noListener: Disposable = { [Symbol.dispose]: () => {} };

/** Settles like `work`, or rejects with the signal's reason as soon as it aborts. After that the end of `work` is ignored. */
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
