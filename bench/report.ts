import type { Measurements } from './benchmark.ts';
import type { Machine } from './machine.ts';
import { format, median } from './stats.ts';
import type { Cell, Row, WorkloadResult } from './tally.ts';

export interface Report extends Measurements {
  date: string;
  /** What to type to run the same again. */
  command: string;
  machine: Machine;
  scale: 'quick' | 'full';
  rounds: number;
  servers: { name: string; command: string; version?: string }[];
}

export function renderText(report: Report): string {
  const lines = [...facts(report), '', ...renderTable(table(report))];
  if (report.failures.length > 0) lines.push('', 'failures:', ...report.failures.map((failure) => `  ${failure}`));
  return `${lines.join('\n')}\n`;
}

export function renderMarkdown(report: Report): string {
  const cells = table(report).map((line) => line.map((cell) => cell.replaceAll('|', '\\|')));
  const lines = [...facts(report).map((fact) => `- ${fact}`), '', ...renderTable(cells)];
  if (report.failures.length > 0) lines.push('', 'Failures:', '', ...report.failures.map((failure) => `- ${failure}`));
  return `${lines.join('\n')}\n`;
}

function facts(report: Report): string[] {
  const { cpu, cores, memoryGiB, kernel, node, extraCaCertificates } = report.machine;
  const ceiling = Object.entries(report.ceiling).map(([name, { value, unit }]) => `${name} ${format(value)} ${unit}`);
  return [
    `date: ${report.date}`,
    `machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, Node ${node}`,
    ...(extraCaCertificates ? ['NODE_EXTRA_CA_CERTS is set, which makes every Node program start later'] : []),
    ...report.servers.map(({ name, version, command }) => `${name}: ${version ? `${version}, ` : ''}\`${command}\``),
    `command: \`${report.command}\``,
    `scale: ${report.scale}; rounds: ${report.rounds}, the servers taking turns`,
    ...(report.busyBefore.length > 0
      ? [`machine busy with other work before a sample, median: ${(median(report.busyBefore) * 100).toFixed(0)} %`]
      : []),
    `ceiling of the benchmark's client: ${ceiling.join('; ')}`,
    'figures: median of the rounds [lowest..highest]; latencies: pooled over the rounds [spread of the medians]',
  ];
}

/** Header first. A ratio above 1 is better than the first server. */
function table(report: Report): string[][] {
  const names = report.servers.map((server) => server.name);
  const header = names.flatMap((name, i) => (i === 0 ? [name] : [name, `x ${names[0]}`]));
  const lines = report.results.flatMap((result) => {
    const rows: Row[] = result.rows.length > 0 ? result.rows : [{ metric: '', unit: '', cells: {} }];
    return rows.map((row, i) => {
      const cells = names.flatMap((name, column) => {
        const value = renderCell(row, row.cells[name]) ?? absence(result, name, i);
        return column === 0 ? [value] : [value, row.cells[name]?.ratio?.toFixed(2) ?? ''];
      });
      return [i === 0 ? result.workload : '', row.metric, ...cells];
    });
  });
  return [['workload', 'metric', ...header], ...lines];
}

function renderCell({ unit }: Row, cell: Cell | undefined): string | undefined {
  if (!cell) return undefined;
  const { value, low, high } = cell;
  const range = low === undefined || high === undefined || low === high ? '' : ` [${format(low)}..${format(high)}]`;
  return `${format(value)} ${unit}`.trim() + range;
}

function absence({ notServed, failed }: WorkloadResult, server: string, line: number): string {
  if (server in notServed) return line === 0 ? `not served (no ${notServed[server]})` : 'not served';
  return failed.includes(server) ? 'failed' : '-';
}

function renderTable(lines: string[][]): string[] {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const render = (line: string[]) => `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [header, ...body] = lines.map(render);
  return [header!, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body];
}
