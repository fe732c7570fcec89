/** A metric with all its samples. */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Of a histogram: `_bucket`, `_sum` or `_count`. */
  readonly suffix?: string;
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Metrics in the text format of Prometheus, version 0.0.4. */
export function exposition(metrics: readonly Metric[]): string {
  return metrics.map(textOf).join('');
}

function textOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ value, labels = {}, suffix = '' }) => `${name}${suffix}${inBraces(labels)} ${value}\n`);
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function inBraces(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
