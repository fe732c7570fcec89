import { describe, expect, it } from 'vitest';
import { EventStream } from './event-stream.ts';
import type { ExecEvent } from './exec-event.ts';

const delta = (chunk = 'x'): ExecEvent => ({ type: 'ExecCommandOutputDelta', call_id: 'c', stream: 'stdout', chunk });
const typed = (stdin: string): ExecEvent => ({ type: 'TerminalInteraction', call_id: 'c', process_id: '1', stdin });

async function all(events: AsyncIterable<ExecEvent>): Promise<ExecEvent[]> {
  const told: ExecEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}

describe('a stream of events', () => {
  it('gives every subscriber everything since it subscribed', async () => {
    const stream = new EventStream();
    const first = stream.subscribe();
    stream.emit(typed('a'));
    const second = stream.subscribe();
    stream.emit(typed('b'));
    stream.end();

    expect(await all(first)).toEqual([typed('a'), typed('b')]);
    expect(await all(second)).toEqual([typed('b')]);
    expect(await all(stream.subscribe())).toEqual([]);
  });

  it('wakes a subscriber that waits', async () => {
    const stream = new EventStream();
    const waiting = all(stream.subscribe());
    await Promise.resolve();
    stream.emit(typed('a'));
    stream.end();

    expect(await waiting).toEqual([typed('a')]);
  });

  it('tells a slow subscriber how much output it missed, and keeps the rest', async () => {
    const stream = new EventStream();
    const slow = stream.subscribe();
    for (let count = 0; count < 5000; count++) stream.emit(delta());
    stream.emit(typed('after'));
    stream.end();

    const told = await all(slow);
    expect(told.slice(0, 4096)).toEqual(Array.from({ length: 4096 }, () => delta()));
    expect(told.slice(4096)).toEqual([{ type: 'EventsMissed', count: 904 }, typed('after')]);
  });

  it('keeps no more bytes of output than a limit', async () => {
    const stream = new EventStream();
    const slow = stream.subscribe();
    for (let count = 0; count < 20; count++) stream.emit(delta('x'.repeat(1024 * 1024)));
    stream.end();

    expect((await all(slow)).at(-1)).toEqual({ type: 'EventsMissed', count: 4 });
  });

  it('keeps no more of anything for one that never looks', async () => {
    const stream = new EventStream();
    const absent = stream.subscribe();
    for (let count = 0; count < 20_000; count++) stream.emit(typed('x'));
    stream.end();

    const told = await all(absent);
    expect([told.length, told.at(-1)]).toEqual([16_385, { type: 'EventsMissed', count: 3616 }]);
  });

  it('ends for one whose signal aborts', async () => {
    const stream = new EventStream();
    const stop = new AbortController();
    const told = all(stream.subscribe(stop.signal));
    stop.abort();
    stream.emit(typed('late'));

    expect(await told).toEqual([]);
  });
});
