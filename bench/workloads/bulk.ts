import { Client } from '../client.ts';
import { MiB } from '../fixtures.ts';
import { megabytesPerSecond, type TransferPlan, transfer, transferFigures } from '../transfer.ts';
import { higher, info, lower, openWarmClient, type Workload, type WorkloadContext } from '../workload.ts';

const checkedSeldom = 16;

export const bulkPipe: Workload = {
  about: 'a large file through a pipe',
  run: (context) => timed(context, {}),
};

export const bulkTty: Workload = {
  about: 'a large file through a terminal',
  run: (context) => timed(context, { tty: true }),
};

export const bulk8: Workload = {
  about: '8 producers at once, an eighth of the file each',
  run(context) {
    const bytes = Math.floor(context.fixtures.bulkBytes / 8);
    const argv = ['/usr/bin/head', '-c', String(bytes), context.fixtures.bulk];
    return timed(context, { producers: 8, argv, bytes });
  },
};

export const bulkSlow: Workload = {
  about: 'the client stops reading for 3 s: memory while stalled, nothing lost',
  async run(context) {
    using client = await openWarmClient(context);
    const result = await transfer(context.server, client, { ...wholeFile(context, checkedSeldom), stallMs: 3000 });
    return {
      figures: {
        'throughput after': higher(megabytesPerSecond(result), 'MB/s'),
        'rss while stalled': lower(result.stalledRssMiB, 'MiB'),
        'peak rss': lower(result.peakRssMiB, 'MiB'),
      },
    };
  },
};

export const bulkVerify: Workload = {
  about: 'untimed, every byte through a pipe and a terminal compared',
  once: true,
  async run(context) {
    using client = await Client.open(context.server.url);
    await transfer(context.server, client, wholeFile(context, 1));
    await transfer(context.server, client, { ...wholeFile(context, 1), tty: true });
    return { figures: { verified: info((2 * context.fixtures.bulkBytes) / MiB, 'MiB') } };
  },
};

async function timed(context: WorkloadContext, plan: Partial<TransferPlan>) {
  using client = await openWarmClient(context);
  const result = await transfer(context.server, client, { ...wholeFile(context, checkedSeldom), ...plan });
  return { figures: transferFigures(result) };
}

function wholeFile({ fixtures }: WorkloadContext, every: number): TransferPlan {
  return { argv: ['/bin/cat', fixtures.bulk], bytes: fixtures.bulkBytes, check: { fixtures, every } };
}
