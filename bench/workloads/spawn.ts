import type { StartParams } from '../client.ts';
import {
  higher,
  inFlight,
  lower,
  type Outcome,
  openWarmClient,
  verify,
  type Workload,
  type WorkloadContext,
} from '../workload.ts';

export const spawn: Workload = {
  about: '`/bin/true`: response, exited, closed; 32 in flight',
  run: (context) => spawnMany(context, { argv: ['/bin/true'] }),
};

export const spawnTty: Workload = {
  about: 'the same on a terminal',
  run: (context) => spawnMany(context, { argv: ['/bin/true'], tty: true }),
};

async function spawnMany(context: WorkloadContext, params: StartParams): Promise<Outcome> {
  const { server, scale } = context;
  using client = await openWarmClient(context);
  const toResponse: number[] = [];
  const toExited: number[] = [];
  const toClosed: number[] = [];
  for (let i = 0; i < scale.spawns; i++) {
    const process = client.start(params);
    await process.ended();
    verify(process.exitCode === 0, `exit code ${process.exitCode}`);
    toResponse.push(process.respondedAt - process.startedAt);
    toExited.push(process.exitedAt - process.startedAt);
    toClosed.push(process.closedAt - process.startedAt);
  }
  const count = scale.spawns * 2;
  const cpuBefore = server.use.cpuSeconds().own;
  const seconds = await inFlight(count, 32, () => client.start(params).closed);
  const cpu = server.use.cpuSeconds().own - cpuBefore;
  return {
    samples: { 'to response': toResponse, 'to exited': toExited, 'to closed': toClosed },
    figures: {
      'x32 in flight': higher(count / seconds, 'proc/s'),
      'server cpu': lower((cpu / count) * 1e6, 'us/proc'),
    },
  };
}
