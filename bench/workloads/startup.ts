import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../client.ts';
import { median } from '../stats.ts';
import { info, lower, timeEach, type Workload } from '../workload.ts';

export const startup: Workload = {
  about: 'spawn to URL, to `initialize` answered; idle memory; CPU used to get there',
  async run({ server }) {
    using _client = await Client.open(server.url);
    const initialized = performance.now() - server.spawnedAt;
    const announced = server.announcedAt - server.spawnedAt;
    await sleep(300);
    const memory = server.use.memory();
    const cpu = server.use.cpuSeconds().own;
    const bareNode = median(await timeEach(5, runBareNode));
    return {
      samples: { 'to URL': [announced], 'to initialized': [initialized] },
      figures: {
        'to URL, above node -e 0': info(announced - bareNode, 'ms'),
        'to initialized, above node -e 0': info(initialized - bareNode, 'ms'),
        'node -e 0': info(bareNode, 'ms'),
        'idle rss': lower(memory.rssMiB, 'MiB'),
        'idle private, written': lower(memory.dirtyMiB, 'MiB'),
        // Not judged: the benchmark runs on Node too, and so shares a Node server's program text with it.
        'idle private': info(memory.privateMiB, 'MiB'),
        'idle pss': info(memory.pssMiB, 'MiB'),
        'start cpu': lower(cpu * 1000, 'ms'),
        threads: info(memory.threads, ''),
      },
    };
  },
};

/** Node doing nothing: the part of a start that no server written for it can avoid. */
function runBareNode(): Promise<unknown> {
  const child = spawn('/bin/sh', ['-c', 'exec "$0" -e 0', process.execPath], { stdio: 'ignore' });
  return once(child, 'exit');
}
