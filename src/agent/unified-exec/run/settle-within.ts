/** Waits until everything has come to an end, one way or the other, but not longer than this. */
export async function settleWithin(work: Iterable<Promise<unknown>>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([Promise.allSettled(work), late]);
  clearTimeout(timer);
}
