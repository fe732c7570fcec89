import { createHash } from 'node:crypto';
import type { Client } from '../client.ts';
import { type Fixtures, MiB } from '../fixtures.ts';
import { decodeChunk } from '../tracked-process.ts';
import { higher, inFlight, lower, openWarmClient, verify, type Workload } from '../workload.ts';

const writeBytes = 65_536;
const verifiedBytes = 4 * MiB;

export const stdin: Workload = {
  about: 'a stream into a child through `process/write`, counted and compared by the child',
  async run({ server, fixtures, scale }) {
    using client = await openWarmClient({ server });
    const total = scale.stdinMiB * MiB;
    const base64 = Buffer.from(fixtures.slice(0, writeBytes).toString('base64'));
    const { process, printed } = startReader(client, `head -c ${total} | wc -c`);
    await process.response;
    const cpuBefore = server.use.cpuSeconds().own;
    const before = performance.now();
    await inFlight(total / writeBytes, 8, (i) =>
      client.callWithBase64('process/write', { processId: process.id, writeId: `w${i}` }, 'chunk', base64),
    );
    await process.exited;
    const seconds = (performance.now() - before) / 1000;
    const cpu = server.use.cpuSeconds().own - cpuBefore;
    await process.closed;
    verify(printed().trim() === String(total), `the child read ${printed().trim()} of ${total} bytes`);
    await verifyContent(client, fixtures);
    return {
      figures: {
        throughput: higher(total / 1e6 / seconds, 'MB/s'),
        'server cpu': lower(cpu / (total / 2 ** 30), 's/GiB'),
      },
    };
  },
};

/** Untimed: every write differs, so that one lost, doubled or misplaced changes the sum. */
async function verifyContent(client: Client, fixtures: Fixtures): Promise<void> {
  const { process, printed } = startReader(client, `head -c ${verifiedBytes} | sha256sum`);
  await process.response;
  const hash = createHash('sha256');
  for (let i = 0; i < verifiedBytes / writeBytes; i++) {
    const part = fixtures.slice(i, writeBytes);
    hash.update(part);
    const chunk = part.toString('base64');
    await client.call('process/write', { processId: process.id, writeId: `v${i}`, chunk });
  }
  await process.closed;
  verify(printed().split(' ')[0] === hash.digest('hex'), 'the child read other bytes than were written');
}

function startReader(client: Client, script: string) {
  let text = '';
  const process = client.start({ argv: ['/bin/sh', '-c', script], pipeStdin: true }, (frame, start, end) => {
    text += decodeChunk(frame, start, end);
  });
  return { process, printed: () => text };
}
