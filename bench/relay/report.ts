import type { Machine } from '../machine.ts';
import { format, median } from '../stats.ts';
import type { CrowdResult } from './crowd.ts';
import type { RecoveryResult } from './recovery.ts';
import type { TransferResult } from './transfer.ts';

export interface RelayReport {
  readonly date: string;
  readonly command: string;
  readonly machine: Machine;
  /** The load average over the last minute, before and after. */
  readonly load: readonly [number, number];
  readonly notes: readonly string[];
  readonly transfers?: readonly TransferResult[];
  readonly recoveries?: readonly RecoveryResult[];
  readonly crowd?: CrowdResult;
}

export function renderRelayReport(report: RelayReport): string {
  const { cpu, cores, memoryGiB, kernel, node } = report.machine;
  const lines = [
    `- date: ${report.date}`,
    `- machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, Node ${node}; every process on it`,
    `- load average before and after: ${report.load.map(format).join(', ')}`,
    `- command: \`${report.command}\``,
    ...report.notes.map((note) => `- ${note}`),
  ];
  if (report.transfers) lines.push('', ...transfers(report.transfers));
  if (report.recoveries) lines.push('', ...recoveries(report.recoveries));
  if (report.crowd) lines.push('', ...crowd(report.crowd));
  return `${lines.join('\n')}\n`;
}

const spread = (values: readonly number[]): string =>
  values.length === 1
    ? format(values[0]!)
    : `${format(median(values))} [${format(Math.min(...values))}..${format(Math.max(...values))}]`;

function transfers(results: readonly TransferResult[]): string[] {
  return [
    '| path | executor | output MB/s | round trip p50 ms | p99 ms |',
    '|---|---|---|---|---|',
    ...results.map(
      ({ path, executor, megabytesPerSecond, roundTripMs }) =>
        `| ${path} | ${executor} | ${spread(megabytesPerSecond)} | ${format(roundTripMs.p50)} | ${format(roundTripMs.p99)} |`,
    ),
  ];
}

function recoveries(results: readonly RecoveryResult[]): string[] {
  return [
    '| killed | executor | no output for, s |',
    '|---|---|---|',
    ...results.map(
      ({ victim, executor, silenceMs }) => `| ${victim} | ${executor} | ${spread(silenceMs.map((ms) => ms / 1000))} |`,
    ),
  ];
}

function crowd(result: CrowdResult): string[] {
  const { environments, streams, seconds } = result;
  return [
    `| one node, for ${seconds} s each | RSS MiB | CPU % of a core |`,
    '|---|---|---|',
    `| nothing connected | ${format(result.emptyMiB)} | |`,
    `| ${environments} idle environments | ${format(result.idleMiB)} | ${format(result.idleCpuPercent)} |`,
    `| and ${streams} active streams | ${format(result.activeMiB)} | ${format(result.activeCpuPercent)} |`,
    '',
    `The streams exchanged ${format(result.framesPerSecond)} frames a second of 1 KiB; there and back took ` +
      `${format(result.roundTripMs.p50)} ms (p50), ${format(result.roundTripMs.p99)} ms (p99), the two ends included.`,
  ];
}
