import type { Machine } from '../machine.ts';
import type { Cost } from './sample.ts';

export interface Report {
  readonly date: string;
  readonly machine: Machine;
  readonly execs: number;
  readonly rounds: number;
  /** The first is the one to compare with. */
  readonly ways: readonly { readonly name: string; readonly least: Cost; readonly samples: readonly Cost[] }[];
}

/** The least of each, because noise only adds. */
export function leastOf(samples: readonly Cost[]): Cost {
  return { cpu: Math.min(...samples.map(({ cpu }) => cpu)), wall: Math.min(...samples.map(({ wall }) => wall)) };
}

export function renderText({ date, machine, execs, rounds, ways }: Report): string {
  const plain = ways[0]!.least.cpu;
  const rows = ways.map(({ name, least: { cpu, wall } }) => [
    name,
    cpu.toFixed(0),
    `+${(cpu - plain).toFixed(0)}`.replace('+-', '-'),
    (cpu / plain).toFixed(2),
    wall.toFixed(0),
  ]);
  const { cpu, cores, memoryGiB, kernel, node } = machine;
  return [
    `date: ${date}`,
    `machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, Node ${node}`,
    `${execs} programs per sample; rounds: ${rounds}; microseconds per program, the least of the rounds`,
    '',
    ...aligned([['way', 'CPU', 'over plain', 'x plain', 'wall'], ...rows]),
    '',
  ].join('\n');
}

/** Names to the left, numbers to the right. */
function aligned(table: readonly (readonly string[])[]): string[] {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
}
