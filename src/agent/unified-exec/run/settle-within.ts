/** Waits until all promises are settled, but not longer than this. */
export async function settleWithin(work: Iterable<Promise<unknown>>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timedOut = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([Promise.allSettled(work), timedOut]);
  clearTimeout(timer);
}
