import type { Client } from '../client.ts';
import { decodeChunk, decodedLength, type TrackedProcess } from '../tracked-process.ts';
import { higher, openWarmClient, status, timeEach, verify, type Workload } from '../workload.ts';

const retainedBytes = 900_000; // below the 1 MiB every server keeps
const chunkMember = Buffer.from('"chunk":"');
const quote = 0x22;

interface ReadResult {
  chunks: { seq: number; chunk: string }[];
}

export const read: Workload = {
  about: '`process/read`: empty poll, replay, push latency, long-poll wake, another request behind a parked poll',
  async run(context) {
    const { fixtures, scale } = context;
    using client = await openWarmClient(context);
    const script = `head -c ${retainedBytes} ${fixtures.bulk}; exec cat`;
    const process = client.start({ argv: ['/bin/sh', '-c', script], pipeStdin: true });
    await process.received(retainedBytes);
    const poll = (waitMs: number) => {
      const params = { processId: process.id, afterSeq: process.lastSeq, maxBytes: 65_536, waitMs };
      return client.call('process/read', params);
    };

    const emptyPolls = await timeEach(scale.rpcCalls / 4, () => poll(0));
    const replayed = await replay(client, process, scale.replays);
    const behindPoll: number[] = [];
    for (let i = 0; i < 3; i++) {
      const parked = poll(250);
      behindPoll.push(...(await timeEach(1, () => status(client))));
      await parked;
    }
    await client.terminate(process);
    await process.closed;

    const { pushed, woken } = await watchClock(client, scale.ticks);
    return {
      samples: {
        'empty poll': emptyPolls,
        'push latency': pushed,
        'long-poll wake': woken,
        'rpc behind a parked poll': behindPoll,
      },
      figures: { replay: higher(replayed, 'MB/s') },
    };
  },
};

/** Fetches the retained output again and again; answers MB/s. */
async function replay(client: Client, process: TrackedProcess, times: number): Promise<number> {
  let bytes = 0;
  const took = await timeEach(times, async () => {
    const params = { processId: process.id, afterSeq: null, maxBytes: null, waitMs: 0 };
    bytes += chunkBytes(await client.callForBytes('process/read', params));
  });
  verify(bytes === times * retainedBytes, `process/read returned ${bytes} of ${times * retainedBytes} bytes`);
  return bytes / 1e6 / (took.reduce((sum, each) => sum + each, 0) / 1000);
}

function chunkBytes(response: Buffer): number {
  let bytes = 0;
  for (let at = response.indexOf(chunkMember); at >= 0; at = response.indexOf(chunkMember, at)) {
    const start = at + chunkMember.length;
    at = response.indexOf(quote, start);
    bytes += decodedLength(response, start, at);
  }
  return bytes;
}

/** A child that prints the time shows how old its output is on arrival, pushed and fetched by a long poll. */
async function watchClock(client: Client, ticks: number): Promise<{ pushed: number[]; woken: number[] }> {
  const now = () => performance.timeOrigin + performance.now();
  const print = `process.stdout.write((performance.timeOrigin + performance.now()).toFixed(3) + '\\n')`;
  const script = `setTimeout(() => setInterval(() => ${print}, 15), 200)`;
  const pushed: number[] = [];
  let enough = (): void => {};
  const ticked = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const clock = client.start({ argv: [process.execPath, '-e', script] }, (frame, start, end) => {
    pushed.push(now() - Number(decodeChunk(frame, start, end)));
    if (pushed.length === ticks) enough();
  });
  await Promise.race([ticked, clock.closed]);
  const firstPushed = pushed.slice();

  const woken: number[] = [];
  let afterSeq = clock.lastSeq;
  for (let i = 0; i < ticks; i++) {
    const params = { processId: clock.id, afterSeq, maxBytes: 65_536, waitMs: 2000 };
    const { chunks } = await client.call<ReadResult>('process/read', params);
    const arrived = now();
    const last = chunks.at(-1);
    verify(last !== undefined, 'a long poll returned nothing');
    afterSeq = last.seq;
    const printed = Buffer.from(last.chunk, 'base64').toString().trim().split('\n').at(-1);
    woken.push(arrived - Number(printed));
  }
  await client.terminate(clock);
  await clock.closed;
  // Two ticks in one chunk are no number; the first poll may have found an old tick waiting.
  return { pushed: firstPushed.filter(Number.isFinite), woken: woken.slice(1).filter(Number.isFinite) };
}
