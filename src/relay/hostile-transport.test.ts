import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FrameFault } from '../../test/relay/hostile-network.ts';
import { type StreamEnd, StreamPair, sendAll } from '../../test/relay/stream-pair.ts';
import { decodeFrame, encodeFrame } from './index.ts';

const pass: FrameFault = { type: 'pass' };
const drop: FrameFault = { type: 'drop' };

/** Mostly small messages, some of several records, with acknowledgements or without. */
const messages = (max: number): fc.Arbitrary<Buffer[]> =>
  fc
    .array(
      fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: 1, max: 200 }) },
        fc.constantFrom(61_436, 61_437, 130_000, 500_000),
      ),
      {
        maxLength: max,
      },
    )
    .map((sizes) => sizes.map((size) => randomBytes(size)));

/** As many of the first messages as may wait for a missing record. */
function beginning(sent: readonly Buffer[]): readonly Buffer[] {
  const upTo = (count: number) => sent.slice(0, count).reduce((bytes, { length }) => bytes + length, 0);
  return sent.filter((_, at) => upTo(at + 1) <= 1024 * 1024);
}

const scriptOf = (fault: fc.Arbitrary<FrameFault>, maxLength: number): fc.Arbitrary<FrameFault[]> =>
  fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(pass) }, fault), { maxLength });

const delay = (max: number): fc.Arbitrary<FrameFault> =>
  fc.integer({ min: 1, max }).map((by) => ({ type: 'delay', by }));
const harmless = fc.oneof(fc.constant<FrameFault>({ type: 'duplicate' }), delay(60));
const lossy = fc.oneof(fc.constant(drop), fc.constant<FrameFault>({ type: 'duplicate' }), delay(100));

const same = (received: readonly Buffer[], sent: readonly Buffer[]): boolean =>
  received.length === sent.length && received.every((message, at) => message.equals(sent[at]!));

/** Whether the received messages are the first of those sent. */
const isPrefix = (received: readonly Buffer[], sent: readonly Buffer[]): boolean =>
  same(received, sent.slice(0, received.length));

const small = (count: number): Buffer[] => Array.from({ length: count }, () => randomBytes(100));

describe('without acknowledgements a stream', () => {
  it('survives duplicates and frames that arrive up to 64 places late, while at most 1 MiB wait for them', async () => {
    await fc.assert(
      fc.asyncProperty(messages(80).map(beginning), scriptOf(harmless, 100), async (sent, forth) => {
        const pair = new StreamPair({ reliable: false, forth });

        sendAll(pair.harness, sent);
        await pair.runUntil(() => pair.environment.received.length === sent.length);

        expect(same(pair.environment.received, sent)).toBe(true);
        expect(pair.environment.ended).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    [64, []],
    [65, ['record is 65 ahead of the one expected']],
  ])('whose frame is overtaken by %i others ends with %j', async (by, ended) => {
    const pair = new StreamPair({ reliable: false, forth: [{ type: 'delay', by }] });

    sendAll(pair.harness, small(by + 2));
    await pair.runUntil(() => pair.environment.received.length === by + 2, 1000);

    expect(pair.environment.ended).toEqual(ended);
  });

  it('ends when a frame is lost, at both ends, and hands over nothing from behind the loss', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.nat(), fc.boolean(), async (count, at, isBack) => {
        const sent = small(count + 1);
        const lost = at % count;
        const script = [...Array.from({ length: lost }, () => pass), drop];
        const pair = new StreamPair({ reliable: false, ...(isBack ? { back: script } : { forth: script }) });
        const [from, to] = isBack ? [pair.environment, pair.harness] : [pair.harness, pair.environment];

        sendAll(from, sent);
        await pair.runUntil(() => from.ended.length > 0);

        expect(same(to.received, sent.slice(0, lost))).toBe(true);
        expect([to.ended, from.ended]).toEqual([['a record was lost'], ['reset by the peer']]);
      }),
      { numRuns: 40 },
    );
  });

  it('ends or continues correctly when its frames are changed, lost or late: a wrong message never arrives', async () => {
    const changed = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(
      ([at, mask]): FrameFault => ({
        type: 'change',
        change: (frame) => {
          const copy = Buffer.from(frame);
          copy[at % copy.length]! ^= mask;
          return copy;
        },
      }),
    );
    await fc.assert(
      fc.asyncProperty(messages(30), scriptOf(fc.oneof(changed, lossy), 40), async (sent, forth) => {
        const pair = new StreamPair({ reliable: false, forth });
        const last = randomBytes(10);

        sendAll(pair.harness, [...sent, ...small(70), last]);
        await pair.runUntil(
          () => pair.environment.ended.length > 0 || pair.environment.received.at(-1)?.equals(last) === true,
        );

        expect(isPrefix(pair.environment.received.slice(0, sent.length), sent)).toBe(true);
        const isComplete = pair.environment.received.length === sent.length + 71;
        expect(pair.environment.ended.length > 0).toBe(!isComplete);
      }),
      { numRuns: 100 },
    );
  });

  it('ends when a record was changed', async () => {
    const change = (frame: Uint8Array): Uint8Array => {
      const { body } = decodeFrame(frame);
      if (body.type !== 'data') return frame;
      const payload = Buffer.from(body.payload);
      payload[0]! ^= 1;
      return encodeFrame({ streamId: 's', body: { ...body, payload } });
    };
    const pair = new StreamPair({ reliable: false, forth: [pass, { type: 'change', change }] });

    sendAll(pair.harness, small(3));
    await pair.runUntil(() => pair.environment.ended.length > 0);

    expect([pair.environment.received.length, pair.environment.ended]).toEqual([1, ['record is not authentic']]);
  });

  it('ignores a replayed frame, and ends when it comes under a new number', async () => {
    const pair = new StreamPair({ reliable: false });
    const { stream, transport, received, ended } = pair.environment;
    sendAll(pair.harness, small(2));
    await pair.runUntil(() => received.length === 2);
    const first = decodeFrame(pair.harness.transport.sent[0]!);

    void stream.receive(first);
    expect([received.length, ended, transport.sent.length]).toEqual([2, [], 0]);
    if (first.body.type === 'data') void stream.receive({ ...first, body: { ...first.body, seq: 2 } });
    expect([received.length, ended]).toEqual([2, ['record is not authentic']]);
  });

  it('ends when a frame of another stream is slipped in', async () => {
    const [one, other] = [new StreamPair({ reliable: false }), new StreamPair({ reliable: false })];
    sendAll(other.harness, small(1));
    await settled(other.environment, 1);

    void one.environment.stream.receive(decodeFrame(other.harness.transport.sent[0]!));

    expect([one.environment.received, one.environment.ended]).toEqual([[], ['record is not authentic']]);
  });
});

describe.each([
  ['an encrypted', false],
  ['a plain', true],
])('with acknowledgements %s stream', (_, isPlain) => {
  it('delivers everything both ways through loss, duplicates and delays, and reports each delivery', async () => {
    await fc.assert(
      fc.asyncProperty(
        messages(120),
        messages(120),
        scriptOf(lossy, 200),
        scriptOf(lossy, 200),
        async (sent, answers, forth, back) => {
          const pair = new StreamPair({ isPlain, reliable: true, forth, back });
          const { harness, environment } = pair;

          sendAll(harness, sent);
          sendAll(environment, answers);
          const isDone = await pair.runUntil(
            () => harness.delivered.length === sent.length && environment.delivered.length === answers.length,
          );

          expect({ isDone, ended: [...harness.ended, ...environment.ended] }).toEqual({ isDone: true, ended: [] });
          expect(same(environment.received, sent) && same(harness.received, answers)).toBe(true);
          expect(harness.delivered).toEqual(sent.map((_, at) => at));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('delivers everything although its ends lose their connections again and again', async () => {
    const event = fc.record({
      count: fc.nat(30),
      ms: fc.nat(400),
      cut: fc.constantFrom('none', 'harness', 'environment'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 15 }),
        scriptOf(lossy, 300),
        scriptOf(lossy, 300),
        async (events, forth, back) => {
          const pair = new StreamPair({ isPlain, reliable: true, forth, back });
          const { harness, environment } = pair;
          const sent: Buffer[] = [];
          for (const { count, ms, cut } of events) {
            const more = small(count);
            sent.push(...more);
            sendAll(harness, more);
            sendAll(environment, more);
            if (cut !== 'none') pair.replaceConnection(pair[cut]);
            await pair.runUntil(() => false, ms);
          }
          const isComplete = ({ received }: StreamEnd): boolean => received.length === sent.length;
          await pair.runUntil(() => isComplete(harness) && isComplete(environment));

          expect([...harness.ended, ...environment.ended]).toEqual([]);
          expect(same(environment.received, sent) && same(harness.received, sent)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('has at most 64 frames on their way, whichever are lost', async () => {
    await fc.assert(
      fc.asyncProperty(scriptOf(lossy, 100), scriptOf(lossy, 100), async (forth, back) => {
        const pair = new StreamPair({ isPlain, reliable: true, forth, back });
        let furthest = 0;
        const { transport } = pair.harness;
        const received = (): number => pair.environment.received.length;

        sendAll(pair.harness, small(300));
        await pair.runUntil(() => {
          const seqs = transport.sent
            .map((frame) => decodeFrame(frame).body)
            .map((body) => (body.type === 'data' ? body.seq : 0));
          furthest = Math.max(furthest, Math.max(0, ...seqs) + 1 - received());
          return received() === 300;
        });

        expect(received()).toBe(300);
        expect(furthest).toBeLessThanOrEqual(64);
      }),
      { numRuns: 20 },
    );
  });

  it('sends frames again byte for byte', async () => {
    const pair = new StreamPair({ isPlain, reliable: true, forth: [drop, drop, pass, drop] });

    sendAll(pair.harness, small(20));
    await pair.runUntil(() => pair.harness.delivered.length === 20);

    const copies = new Map<number, Set<string>>();
    for (const frame of pair.harness.transport.sent) {
      const { body } = decodeFrame(frame);
      if (body.type !== 'data') continue;
      copies.set(body.seq, (copies.get(body.seq) ?? new Set()).add(Buffer.from(frame).toString('hex')));
    }
    expect([...copies.values()].map((frames) => frames.size)).toEqual(Array.from({ length: 20 }, () => 1));
    expect(pair.harness.transport.sent.length).toBeGreaterThan(20);
  });

  it('repeats a frame at once when three later ones have arrived', async () => {
    const pair = new StreamPair({ isPlain, reliable: true, forth: [drop, pass, drop] });

    sendAll(pair.harness, small(1));
    await pair.runUntil(() => pair.harness.delivered.length === 1); // the first is repeated when its time has come
    const before = pair.clock.now();
    sendAll(pair.harness, small(5));
    await pair.runUntil(() => pair.environment.received.length === 6);

    expect(pair.clock.now()).toBe(before);
  });

  it('ends when the network loses every copy of a frame but nothing else', async () => {
    const change = (frame: Uint8Array): Uint8Array =>
      decodeFrame(frame).body.type === 'data' ? encodeFrame({ streamId: 'other', body: { type: 'heartbeat' } }) : frame;
    const forth = Array.from({ length: 1000 }, (): FrameFault => ({ type: 'change', change }));
    const pair = new StreamPair({ isPlain, reliable: true, forth });

    sendAll(pair.harness, small(1));
    await pair.runUntil(() => pair.harness.ended.length > 0);

    expect(pair.harness.ended).toEqual(['the peer acknowledges nothing any more']);
  });

  it('ends when the peer acknowledges frames that were never sent', async () => {
    const pair = new StreamPair({ isPlain, reliable: true });

    void pair.harness.stream.receive({ streamId: 's', ack: 5, body: { type: 'ack' } });

    expect(pair.harness.ended).toEqual(['the peer acknowledges what was never sent']);
  });
});

describe('with acknowledgements an encrypted stream', () => {
  it('ends when a record was changed', async () => {
    const change = (frame: Uint8Array): Uint8Array => Buffer.from(frame).fill(0, frame.length - 1);
    const pair = new StreamPair({ reliable: true, forth: [{ type: 'change', change }] });

    sendAll(pair.harness, [Buffer.from('a')]);
    await pair.runUntil(() => pair.environment.ended.length > 0);

    expect(pair.environment.ended).toEqual(['record is not authentic']);
  });
});

async function settled(end: StreamEnd, count: number): Promise<void> {
  while (end.received.length < count) await new Promise((resolve) => setImmediate(resolve));
}
