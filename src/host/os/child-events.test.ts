import { describe, expect, it } from 'vitest';
import type { ChildEvent } from './child.ts';
import { ChildEvents } from './child-events.ts';
import { outputChunk } from './chunk.ts';

const output = (byteLength: number): ChildEvent => ({
  type: 'output',
  stream: 'stdout',
  chunk: outputChunk(Buffer.alloc(0), byteLength),
});
const ended: ChildEvent = { type: 'ended', stream: 'stdout' };

function record() {
  const granted: ChildEvent[] = [];
  return { granted, events: new ChildEvents((event) => granted.push(event)) };
}

describe('the events of a child', () => {
  it('come in order, whether they are awaited before or after they happen', async () => {
    const { events } = record();
    const early = events.next();
    events.push(output(1));
    events.push(output(2));
    events.push(ended);
    events.complete();
    expect(await early).toEqual({ done: false, value: output(1) });
    expect(await events.next()).toEqual({ done: false, value: output(2) });
    expect(await events.next()).toEqual({ done: false, value: ended });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it('return the room of a chunk once, when the next event is asked for', async () => {
    const { events, granted } = record();
    events.push(output(1));
    events.push(ended);
    await events.next();
    expect(granted).toEqual([]);
    await events.next();
    await Promise.race([events.next(), Promise.resolve()]);
    expect(granted).toEqual([output(1)]);
  });

  it('end for all waiting readers', async () => {
    const { events } = record();
    const waiting = [events.next(), events.next()];
    events.complete();
    expect(await Promise.all(waiting)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });
});
