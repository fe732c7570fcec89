import type { Machine } from '../machine.ts';
import { median } from '../stats.ts';
import type { Cost } from './sample.ts';

/** One sample of a variant, and the sample of plain Bash taken right before it. */
export interface Pair {
  readonly plain: Cost;
  readonly cost: Cost;
}

export interface Report {
  readonly date: string;
  readonly machine: Machine;
  readonly execs: number;
  readonly rounds: number;
  readonly variants: readonly { readonly name: string; readonly pairs: readonly Pair[] }[];
}

export function renderText({ date, machine, execs, rounds, variants }: Report): string {
  const plain = median(variants.flatMap(({ pairs }) => pairs.map((pair) => pair.plain.cpu)));
  const rows = variants.map(({ name, pairs }) => {
    const ratios = pairs.map((pair) => pair.cost.cpu / pair.plain.cpu);
    return [
      name,
      median(pairs.map(({ cost }) => cost.cpu)).toFixed(0),
      signed(median(pairs.map((pair) => pair.cost.cpu - pair.plain.cpu))),
      `${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}]`,
      median(pairs.map(({ cost }) => cost.wall)).toFixed(0),
    ];
  });
  const { cpu, cores, memoryGiB, kernel, node } = machine;
  return [
    `date: ${date}`,
    `machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, Node ${node}`,
    `${execs} programs per sample; rounds: ${rounds}; microseconds per program, median [lowest..highest]`,
    '',
    ...aligned([
      ['variant', 'CPU', 'over plain', 'x plain', 'wall'],
      ['plain Bash', plain.toFixed(0), '', '', ''],
      ...rows,
    ]),
    '',
  ].join('\n');
}

const signed = (value: number): string => `${value < 0 ? '' : '+'}${value.toFixed(0)}`;

/** Names to the left, numbers to the right. */
function aligned(table: readonly (readonly string[])[]): string[] {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
}
