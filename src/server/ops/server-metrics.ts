import { readdir, readFile } from 'node:fs/promises';
import { version } from '../../base/index.ts';
import type { Metric, Sample } from './exposition.ts';
import type { Histogram } from './histogram.ts';
import type { ServerCounters } from './server-counters.ts';

/** What is looked up when metrics are asked for. */
export interface ServerGauges {
  readonly attachedSessions: number;
  readonly detachedSessions: number;
  readonly connections: number;
  readonly runningProcesses: number;
}

export const noGauges: ServerGauges = { attachedSessions: 0, detachedSessions: 0, connections: 0, runningProcesses: 0 };

/** The metrics of a server. No label has a value that clients choose, so their number is fixed. */
export async function serverMetrics(counters: ServerCounters, gauges: ServerGauges): Promise<readonly Metric[]> {
  const { processes, outcomes, bytes, denials, refusedLogins, audit } = counters;
  return [
    gauge('exec_server_build_info', 'The version of this server and of Node; always 1.', [
      { value: 1, labels: { version, node: process.versions.node } },
    ]),
    gauge('exec_server_uptime_seconds', 'Time since this server was started.', process.uptime()),
    gauge('exec_server_sessions', 'Sessions that have a connection, and that wait to be resumed.', [
      { value: gauges.attachedSessions, labels: { state: 'attached' } },
      { value: gauges.detachedSessions, labels: { state: 'detached' } },
    ]),
    gauge('exec_server_connections', 'Connections that are open.', gauges.connections),
    counter('exec_server_connections_total', 'Connections that were served.', counters.connections),
    counter('exec_server_logins_refused_total', 'Clients that were turned away, by what they were judged by.', [
      ...labelled('by', refusedLogins),
    ]),
    gauge(
      'exec_server_processes',
      'Processes that run, or whose output is not read to the end.',
      gauges.runningProcesses,
    ),
    counter('exec_server_processes_started_total', 'Processes that were started.', processes.started),
    counter('exec_server_processes_not_started_total', 'Processes that could not be started.', processes.notStarted),
    counter(
      'exec_server_processes_exited_total',
      'Processes that exited: with code 0, another, by a signal, in time.',
      [...labelled('outcome', outcomes)],
    ),
    {
      name: 'exec_server_spawn_seconds',
      type: 'histogram',
      help: 'How long it takes to start a process, its sandbox included, until its program is executed.',
      samples: buckets(counters.spawnSeconds),
    },
    counter('exec_server_bytes_total', 'Bytes that went through processes and forwarded connections.', [
      { value: bytes.output, labels: { stream: 'output' } },
      { value: bytes.stdin, labels: { stream: 'stdin' } },
      { value: bytes.fromPorts, labels: { stream: 'from_port' } },
      { value: bytes.toPorts, labels: { stream: 'to_port' } },
    ]),
    counter(
      'exec_server_denials_total',
      'Refusals by sandboxes, by policies of managed networks, of ports, and for want of a scope.',
      [...labelled('by', denials)],
    ),
    counter('exec_server_audit_records_total', 'Records in the audit log.', audit.written),
    counter('exec_server_audit_dropped_total', 'Records that are missing in the audit log.', audit.dropped),
    ...(await processMetrics()),
  ];
}

/** Under the names that all libraries of Prometheus use. */
async function processMetrics(): Promise<readonly Metric[]> {
  const { user, system } = process.cpuUsage();
  return [
    counter('process_cpu_seconds_total', 'Processor time of the server itself.', (user + system) / 1e6),
    gauge('process_resident_memory_bytes', 'Memory of the server itself.', process.memoryUsage.rss()),
    gauge('process_open_fds', 'File descriptors that are open.', (await readdir('/proc/self/fd')).length - 1), // without its own
    gauge('process_max_fds', 'How many file descriptors may be open.', await descriptorLimit()),
  ];
}

async function descriptorLimit(): Promise<number> {
  const [, limit] = /^Max open files\s+(\S+)/m.exec(await readFile('/proc/self/limits', 'latin1')) ?? [];
  return limit === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(limit);
}

type Values = number | readonly Sample[];

const samplesOf = (values: Values): readonly Sample[] => (typeof values === 'number' ? [{ value: values }] : values);

function gauge(name: string, help: string, values: Values): Metric {
  return { name, type: 'gauge', help, samples: samplesOf(values) };
}

function counter(name: string, help: string, values: Values): Metric {
  return { name, type: 'counter', help, samples: samplesOf(values) };
}

function labelled(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ value, labels: { [label]: name } }));
}

function buckets(histogram: Histogram): readonly Sample[] {
  const counts = histogram.cumulative();
  const bounds = [...histogram.bounds.map(String), '+Inf'];
  return [
    ...bounds.map((le, at) => ({ suffix: '_bucket', labels: { le }, value: counts[at]! })),
    { suffix: '_sum', value: histogram.sum },
    { suffix: '_count', value: counts.at(-1)! },
  ];
}
