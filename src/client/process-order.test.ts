import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProcessEvent } from './process-event.ts';
import { ProcessOrder } from './process-order.ts';

/** The events of a process: `outputs` chunks, the exit somewhere among them, and the close at the end. */
const life = fc.record({ outputs: fc.integer({ min: 0, max: 40 }), exitAt: fc.nat() }).map(({ outputs, exitAt }) =>
  Array.from({ length: outputs + 2 }, (_, index): ProcessEvent => {
    const seq = index + 1;
    if (seq === outputs + 2) return { type: 'closed', seq };
    if (index === exitAt % (outputs + 1)) return { type: 'exited', seq, exitCode: 3, sandboxDenied: true };
    return { type: 'output', seq, stream: 'stdout', bytes: Uint8Array.of(seq) };
  }),
);

const arrivals = life.chain((events) =>
  fc.record({
    events: fc.constant(events),
    arriving: fc.array(fc.constantFrom(...events), { maxLength: 80 }),
  }),
);

/** The answer of the server to a read when it still keeps the outputs from `oldest` on. */
function retainedBy(events: readonly ProcessEvent[], oldest: number) {
  const exit = events.find((event) => event.type === 'exited');
  return {
    chunks: events.flatMap((event) =>
      event.type === 'output' && event.seq >= oldest
        ? [{ seq: event.seq, stream: event.stream, chunk: event.bytes }]
        : [],
    ),
    nextSeq: events.length + 1,
    exited: exit !== undefined,
    exitCode: exit?.exitCode ?? null,
    sandboxDenied: exit?.sandboxDenied ?? false,
    closed: events.at(-1)?.type === 'closed',
  };
}

/** The longest run from 1 on that has arrived. */
function orderly(arrived: readonly ProcessEvent[]): ProcessEvent[] {
  const bySeq = new Map(arrived.map((event) => [event.seq, event]));
  const run: ProcessEvent[] = [];
  while (bySeq.has(run.length + 1)) run.push(bySeq.get(run.length + 1)!);
  return run;
}

describe('the order of the events of a process', () => {
  it('is that of their numbers, each delivered once, however they arrive', () => {
    fc.assert(
      fc.property(arrivals, ({ arriving }) => {
        const order = new ProcessOrder();
        expect(arriving.flatMap((event) => order.offer(event))).toEqual(orderly(arriving));
      }),
    );
  });

  it('is completed from what the server retains, or the missing range is named', () => {
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 0, max: 45 }), ({ events, arriving }, oldest) => {
        const order = new ProcessOrder();
        const delivered = arriving.flatMap((event) => order.offer(event));
        const { events: filled, missing } = order.reconcile(retainedBy(events, oldest));
        delivered.push(...filled);

        const known = new Set(arriving.map(({ seq }) => seq));
        const lost = events.filter(({ type, seq }) => type === 'output' && seq < oldest && !known.has(seq));
        if (lost.length === 0) {
          expect({ delivered, missing }).toEqual({ delivered: events, missing: undefined });
        } else {
          expect(delivered).toEqual(events.slice(0, delivered.length));
          expect(delivered.length).toBeLessThan(lost[0]!.seq);
          expect(missing!.from).toBe(delivered.length + 1);
          expect(missing!.to).toBeGreaterThanOrEqual(lost.at(-1)!.seq);
        }
      }),
    );
  });

  it('is known before the process has ended: nothing is missing while the exit is still to come', () => {
    const order = new ProcessOrder();
    const chunk = { seq: 1, stream: 'pty' as const, chunk: Uint8Array.of(1) };
    const answer = { chunks: [chunk], nextSeq: 2, exited: false, exitCode: null, closed: false, sandboxDenied: false };

    expect(order.reconcile(answer)).toEqual({
      events: [{ type: 'output', seq: 1, stream: 'pty', bytes: Uint8Array.of(1) }],
      missing: undefined,
    });
  });

  it('gives up waiting for a gap when the close has come or 256 events are held', () => {
    const closed = new ProcessOrder();
    closed.offer({ type: 'closed', seq: 2 });
    const flooded = new ProcessOrder();
    for (let seq = 2; seq <= 257; seq++)
      flooded.offer({ type: 'output', seq, stream: 'stdout', bytes: Uint8Array.of(1) });
    const before = flooded.isStuck;
    flooded.offer({ type: 'output', seq: 258, stream: 'stdout', bytes: Uint8Array.of(1) });

    expect([closed.isStuck, before, flooded.isStuck]).toEqual([true, false, true]);
  });
});
