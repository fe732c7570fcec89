/** The value below which a share of the sample lies, interpolated between neighbours. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** About three significant digits: enough to compare, few enough to read. */
export function format(value: number): string {
  const size = Math.abs(value);
  if (size >= 10_000) return value.toFixed(0);
  if (size >= 100) return value.toFixed(1);
  return size >= 1 || size === 0 ? value.toFixed(2) : value.toFixed(3);
}
