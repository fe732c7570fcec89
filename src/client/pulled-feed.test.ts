import { describe, expect, it } from 'vitest';
import type { Result } from '../protocol/index.ts';
import { OutputGapError } from './errors.ts';
import type { ProcessEvent } from './process-event.ts';
import { PulledFeed } from './pulled-feed.ts';

type Answer = Result<'process/read'>;

const running: Answer = { chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false };
const closed: Answer = { ...running, exited: true, exitCode: 3, closed: true, signal: 'SIGKILL', timedOut: true };

const chunk = (seq: number) => ({ seq, stream: 'stdout' as const, chunk: Uint8Array.of(seq) });

/** A feed whose server gives these answers, one for each read. */
function feedOf(...answers: Answer[]) {
  const seen: unknown[] = [];
  const reads: number[] = [];
  const feed = new PulledFeed({
    processId: 'p',
    read: async (afterSeq) => {
      reads.push(afterSeq);
      return answers.shift()!;
    },
    hasRoom: () => answers.length > 0,
    observer: {
      event: (event: ProcessEvent) => void seen.push(event.type === 'output' ? event.seq : event.type),
      failed: (failure) => void seen.push(failure),
      outputEnded: () => void seen.push('ended'),
    },
  });
  return { feed, seen, reads };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a process whose output is fetched', () => {
  it('is read while its reader has room, until everything is read', async () => {
    const answers = [
      { ...running, chunks: [chunk(1), chunk(2)] },
      { ...closed, chunks: [chunk(3)] },
    ];
    const { feed, seen, reads } = feedOf(...answers, closed, closed);

    feed.want();
    feed.want();
    await settled();

    expect(reads).toEqual([0, 2, 3]);
    expect(seen).toEqual([1, 2, 3, 'exited', 'closed', 'ended']);
  });

  it('passes an exit on once, whether it is announced or read', async () => {
    const { feed, seen } = feedOf(closed, closed);
    feed.receive({ type: 'exited', seq: 7, exitCode: 3, sandboxDenied: false });

    await feed.catchUp();
    feed.receive({ type: 'closed', seq: 8 });

    expect(seen).toEqual(['exited', 'closed']);
  });

  it('fails for output that another reader let go', async () => {
    const { feed, seen } = feedOf({ ...running, chunks: [chunk(5)], truncated: true });

    feed.want();
    await settled();

    expect(seen).toEqual([new OutputGapError('p', { from: 1, to: 4 })]);
    expect(seen[0]).toMatchObject({ from: 1, to: 4 });
  });
});
