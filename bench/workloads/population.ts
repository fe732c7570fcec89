import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type StartParams } from '../client.ts';
import type { ServerUnderTest } from '../server-under-test.ts';
import type { TrackedProcess } from '../tracked-process.ts';
import {
  type Figure,
  higher,
  inFlight,
  info,
  lower,
  openWarmClient,
  status,
  timeEach,
  type Workload,
} from '../workload.ts';

const sleeper: StartParams = { argv: ['/bin/sleep', '1000'] };

export const connections: Workload = {
  about: 'many connections with one process each',
  async run({ server, scale }) {
    const count = scale.connections;
    const openingFirst = performance.now();
    using _first = await Client.open(server.url);
    const openedFirst = performance.now();
    const memoryBefore = server.use.memory();
    const opening = performance.now();
    const clients = await Promise.all(Array.from({ length: count }, () => Client.open(server.url)));
    const started = performance.now();
    const processes = await Promise.all(
      clients.map(async (client) => {
        const process = client.start({ argv: ['/bin/cat'], pipeStdin: true });
        await process.response;
        await client.write(process, 'hi\n', 'w');
        await process.received(3);
        return process;
      }),
    );
    const echoed = performance.now();
    const memory = server.use.memory();
    const terminating = performance.now();
    await Promise.all(clients.map((client, i) => client.terminate(processes[i]!)));
    await Promise.all(processes.map((process) => process.closed));
    const closed = performance.now();
    for (const client of clients) client[Symbol.dispose]();
    return {
      figures: {
        'first open + initialize': lower(openedFirst - openingFirst, 'ms'),
        'open + initialize': lower(started - opening, 'ms'),
        'start + echo': lower(echoed - started, 'ms'),
        'terminate + close': lower(closed - terminating, 'ms'),
        'rss per connection': lower(((memory.rssMiB - memoryBefore.rssMiB) / count) * 1024, 'KiB'),
      },
    };
  },
};

export const live: Workload = {
  about: 'up to 1000 live processes: RPC and spawn latency, memory per process, idle CPU, terminating all',
  async run({ server, scale }) {
    using client = await openWarmClient({ server });
    const before = server.use.memory();
    const processes: TrackedProcess[] = [];
    const samples: Record<string, number[]> = {};
    for (const target of scale.liveProcesses) {
      processes.push(...(await startSleepers(client, target - processes.length, sleeper)));
      samples[`rpc @${target}`] = await timeEach(scale.rpcCalls / 8, () => status(client));
      samples[`spawn @${target}`] = await timeEach(20, () => client.start({ argv: ['/bin/true'] }).closed);
    }
    const memory = server.use.memory();
    const idleCpu = await idleCpuPercent(server);
    const count = processes.length;
    return {
      samples,
      figures: {
        'rss per process': lower(((memory.rssMiB - before.rssMiB) / count) * 1024, 'KiB'),
        'fds per process': info((memory.descriptors - before.descriptors) / count, ''),
        threads: lower(memory.threads, ''),
        'idle cpu': lower(idleCpu, '%'),
        'rss total': lower(memory.rssMiB, 'MiB'),
        'terminate all': await terminateAll(client, processes),
      },
    };
  },
};

export const burst: Workload = {
  about: '300 live processes, 300 `process/terminate` sent at once: share answered and closed within 8 s',
  async run({ server }) {
    const count = 300;
    using client = await Client.open(server.url);
    const processes = await startSleepers(client, count, sleeper);
    let answered = 0;
    const before = performance.now();
    const terminated = processes.map(async (process) => {
      await client.terminate(process);
      answered++;
      await process.closed;
    });
    // The reference server can stop reading the connection here for good, so there is a limit to the patience.
    const patience = new AbortController();
    await Promise.race([
      Promise.allSettled(terminated),
      sleep(8000, undefined, { signal: patience.signal }).catch(() => {}),
    ]);
    patience.abort();
    const took = performance.now() - before;
    const closed = processes.filter((process) => process.closedAt > 0).length;
    return {
      figures: {
        'terminations answered': higher((100 * answered) / count, '%'),
        'processes reported closed': higher((100 * closed) / count, '%'),
        'all done after': lower(took, 'ms'),
      },
    };
  },
};

export const liveTty: Workload = {
  about: 'many live terminals',
  async run({ server, scale }) {
    using client = await openWarmClient({ server });
    const count = scale.liveTerminals;
    const before = server.use.memory();
    const starting = performance.now();
    const processes = await startSleepers(client, count, { ...sleeper, tty: true });
    const started = performance.now();
    const memory = server.use.memory();
    const calls = await timeEach(scale.rpcCalls / 8, () => status(client));
    await terminateAll(client, processes);
    return {
      samples: { [`rpc @${count}`]: calls },
      figures: {
        'start all': lower(started - starting, 'ms'),
        'rss per terminal': lower(((memory.rssMiB - before.rssMiB) / count) * 1024, 'KiB'),
        threads: lower(memory.threads, ''),
      },
    };
  },
};

async function startSleepers(client: Client, count: number, params: StartParams): Promise<TrackedProcess[]> {
  const processes: TrackedProcess[] = [];
  await inFlight(count, 16, async () => {
    const process = client.start(params);
    processes.push(process);
    await process.response;
  });
  return processes;
}

async function terminateAll(client: Client, processes: TrackedProcess[]): Promise<Figure> {
  const before = performance.now();
  await inFlight(processes.length, 16, (i) => client.terminate(processes[i]!));
  await Promise.all(processes.map((process) => process.closed));
  return lower(performance.now() - before, 'ms');
}

async function idleCpuPercent(server: ServerUnderTest): Promise<number> {
  await sleep(300);
  const before = server.use.cpuSeconds().own;
  await sleep(2000);
  return ((server.use.cpuSeconds().own - before) / 2) * 100;
}
