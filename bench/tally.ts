import { median, quantile } from './stats.ts';
import type { Figure, Outcome } from './workload.ts';

/** A quantile says nothing about a handful of samples. */
const samplesForP99 = 50;

export interface Cell {
  value: number;
  /** Spread over the rounds. */
  low?: number;
  high?: number;
  /** Above 1 is better than the first server, whatever the direction of the metric. */
  ratio?: number;
}

export interface Row {
  metric: string;
  unit: string;
  better?: 'higher' | 'lower';
  cells: Record<string, Cell>;
}

export interface WorkloadResult {
  workload: string;
  rows: Row[];
  /** Servers that lack a method the workload needs, and the method. */
  notServed: Record<string, string>;
  failed: string[];
}

/** Collects the rounds of one workload and compares the servers. */
export class Tally {
  readonly #workload: string;
  readonly #servers: readonly string[];
  readonly #rounds = new Map<string, Outcome[]>();
  readonly #notServed: Record<string, string> = {};
  readonly #failed = new Set<string>();

  constructor(workload: string, servers: readonly string[]) {
    this.#workload = workload;
    this.#servers = servers;
  }

  record(server: string, outcome: Outcome): void {
    this.#rounds.set(server, [...this.#roundsOf(server), outcome]);
  }

  recordNotServed(server: string, method: string): void {
    this.#notServed[server] = method;
  }

  recordFailure(server: string): void {
    this.#failed.add(server);
  }

  isServed(server: string): boolean {
    return !(server in this.#notServed);
  }

  result(): WorkloadResult {
    const rows = [...this.#sampleRows(), ...this.#figureRows()];
    for (const row of rows) this.#compare(row);
    return { workload: this.#workload, rows, notServed: this.#notServed, failed: [...this.#failed] };
  }

  #sampleRows(): Row[] {
    const rows: Row[] = [];
    for (const name of this.#names('samples')) {
      const p50: Row = { metric: `${name} p50`, unit: 'ms', better: 'lower', cells: {} };
      const p99: Row = { metric: `${name} p99`, unit: 'ms', better: 'lower', cells: {} };
      for (const server of this.#servers) {
        const rounds = this.#roundsOf(server).flatMap((round) => (round.samples?.[name] ? [round.samples[name]] : []));
        const pooled = rounds.flat();
        if (pooled.length === 0) continue;
        p50.cells[server] = { value: median(pooled), ...spread(rounds.map(median)) };
        if (pooled.length >= samplesForP99) p99.cells[server] = { value: quantile(pooled, 0.99) };
      }
      rows.push(p50, p99);
    }
    return rows.filter((row) => Object.keys(row.cells).length > 0);
  }

  #figureRows(): Row[] {
    return this.#names('figures').map((metric) => {
      const row: Row = { metric, unit: '', cells: {} };
      for (const server of this.#servers) {
        const figures = this.#roundsOf(server).flatMap((round) => round.figures?.[metric] ?? []);
        const [first]: (Figure | undefined)[] = figures;
        if (!first) continue;
        row.unit = first.unit;
        if (first.better) row.better = first.better;
        const values = figures.map((figure) => figure.value);
        row.cells[server] = { value: median(values), ...spread(values) };
      }
      return row;
    });
  }

  #compare({ better, cells }: Row): void {
    const [first, ...others] = this.#servers;
    const base = cells[first!];
    if (!better || !base) return;
    for (const server of others) {
      const cell = cells[server];
      if (!cell) continue;
      const ratio = better === 'higher' ? cell.value / base.value : base.value / cell.value;
      if (Number.isFinite(ratio)) cell.ratio = ratio;
    }
  }

  #names(kind: 'samples' | 'figures'): string[] {
    const outcomes = this.#servers.flatMap((server) => this.#roundsOf(server));
    return [...new Set(outcomes.flatMap((outcome) => Object.keys(outcome[kind] ?? {})))];
  }

  #roundsOf(server: string): Outcome[] {
    return this.#rounds.get(server) ?? [];
  }
}

function spread(values: number[]): { low: number; high: number } {
  return { low: Math.min(...values), high: Math.max(...values) };
}
