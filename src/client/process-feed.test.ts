import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Result } from '../protocol/index.ts';
import type { ProcessEvent } from './process-event.ts';
import { ProcessFeed } from './process-feed.ts';

const output = (seq: number): ProcessEvent => ({ type: 'output', seq, stream: 'stdout', bytes: Uint8Array.of(seq) });
const retained = { chunks: [], nextSeq: 1, exited: false, closed: false };

/** A feed whose server answers as given, with the reads, events and failures that follow. */
function feed(answer: Partial<Result<'process/read'>>) {
  const reads: number[] = [];
  const events: ProcessEvent[] = [];
  const failures: string[] = [];
  const read = async (afterSeq: number): Promise<Result<'process/read'>> => {
    reads.push(afterSeq);
    return { ...retained, ...answer };
  };
  const observer = {
    event: (event: ProcessEvent) => void events.push(event),
    failed: ({ message }: Error) => void failures.push(message),
  };
  return { feed: new ProcessFeed('p', read, observer), reads, events, failures };
}

describe('the history of a process', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is read from the server when a gap lasts', async () => {
    const chunk = { seq: 2, stream: 'stdout' as const, chunk: Uint8Array.of(2) };
    const { feed: history, reads, events } = feed({ chunks: [chunk], nextSeq: 4 });

    history.receive(output(1));
    history.receive(output(3));
    await vi.advanceTimersByTimeAsync(999);
    expect(reads).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);

    expect(reads).toEqual([1]);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it('is not read from the server when two neighbouring events were only swapped', async () => {
    const { feed: history, reads, events } = feed({});

    history.receive(output(2));
    history.receive(output(1));
    await vi.advanceTimersByTimeAsync(5000);

    expect([reads, events.map(({ seq }) => seq)]).toEqual([[], [1, 2]]);
  });

  it('asks about the sandbox when an exit does not mention it, and delivers the exit before later events', async () => {
    const { feed: history, reads, events } = feed({ sandboxDenied: true, nextSeq: 3, exited: true });

    history.receive(output(1));
    history.receive({ type: 'exited', seq: 2, exitCode: 1, sandboxDenied: undefined });
    history.receive({ type: 'closed', seq: 3 });
    await vi.advanceTimersByTimeAsync(0);

    expect(reads).toEqual([2]);
    expect(events.slice(1)).toEqual([
      { type: 'exited', seq: 2, exitCode: 1, sandboxDenied: true },
      { type: 'closed', seq: 3 },
    ]);
  });

  it('fails when a gap cannot be filled', async () => {
    const { feed: history, failures } = feed({ nextSeq: 4 });

    history.receive(output(3));
    await vi.advanceTimersByTimeAsync(1000);

    expect(failures).toEqual(['output of process p is lost: events 1 to 2 are no longer kept']);
  });
});
