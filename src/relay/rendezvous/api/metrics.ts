type Labels = Readonly<Record<string, string>>;

const counters = {
  rendezvous_frames_total: 'Frames passed on, by direction.',
  rendezvous_bytes_total: 'Bytes of frames passed on, by direction.',
  rendezvous_resets_total: 'Streams reset by the service, by reason.',
  rendezvous_invalid_frames_total: 'Invalid frames, by the role of their sender.',
  rendezvous_requests_total: 'Requests to the registry, by operation and status.',
  rendezvous_upgrades_total: 'Upgrade requests, by role and status.',
  rendezvous_validations_total: 'Harness keys that environments asked to validate, by verdict.',
  rendezvous_bus_interruptions_total: 'Times the connection between the nodes was interrupted.',
  rendezvous_reading_paused_total: 'Times an environment was not read because the queues were full.',
} as const;

type Counter = keyof typeof counters;

interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly read: () => readonly { readonly labels: Labels; readonly value: number }[];
}

/** One line of a counter. */
export interface Series {
  value: number;
}

/** Counters and gauges in the text format of Prometheus. */
export class Metrics {
  readonly #counts = new Map<Counter, Map<string, Series>>();
  readonly #gauges: Gauge[] = [];

  add(counter: Counter, labels: Labels): void {
    this.series(counter, labels).value++;
  }

  /** A counter with fixed labels, for callers that count every frame. */
  series(counter: Counter, labels: Labels): Series {
    const all = this.#counts.get(counter) ?? new Map<string, Series>();
    this.#counts.set(counter, all);
    const key = format(labels);
    const series = all.get(key) ?? { value: 0 };
    all.set(key, series);
    return series;
  }

  /** A value that is read when the metrics are. */
  gauge(name: string, help: string, read: Gauge['read']): void {
    this.#gauges.push({ name, help, read });
  }

  text(): string {
    const lines: string[] = [];
    for (const [name, help] of Object.entries(counters)) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`);
      for (const [labels, { value }] of this.#counts.get(name as Counter) ?? [])
        lines.push(`${name}${labels} ${value}`);
    }
    for (const { name, help, read } of this.#gauges) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`);
      for (const { labels, value } of read()) lines.push(`${name}${format(labels)} ${value}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

function format(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}
