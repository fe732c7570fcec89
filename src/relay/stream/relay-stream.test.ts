import { describe, expect, it } from 'vitest';
import { settled } from '../../../test/relay/fake-clock.ts';
import type { FrameFault } from '../../../test/relay/hostile-network.ts';
import { type StreamEnd, StreamPair, sendAll } from '../../../test/relay/stream-pair.ts';
import { deferred } from '../../base/index.ts';
import { decodeFrame } from '../index.ts';

const drop: FrameFault = { type: 'drop' };
const messages = (count: number, length = 100): Buffer[] =>
  Array.from({ length: count }, () => Buffer.alloc(length, 'x'));

/** The frames that an end has sent, in short form. */
const sentBy = ({ transport }: StreamEnd): string[] =>
  transport.sent.map((frame) => {
    const { body, ack, ackBits } = decodeFrame(frame);
    const what = body.type === 'data' ? `data ${body.seq}` : body.type;
    return ack || body.type === 'ack' ? `${what} ack ${ack}${ackBits ? ` ${ackBits.toString(2)}` : ''}` : what;
  });

describe('a stream without acknowledgements', () => {
  it('holds a mebibyte of records that came too early, and ends over more', async () => {
    const pair = new StreamPair({ reliable: false, forth: [drop] });

    sendAll(pair.harness, [...messages(1), ...messages(17, 61_436)]);
    await settled();
    expect(pair.environment.ended).toEqual([]);
    sendAll(pair.harness, messages(1, 61_436));
    await settled();

    expect(pair.environment.ended).toEqual(['more than 1048576 bytes wait for a missing record']);
  });

  it('ends at both ends with the connection', () => {
    const pair = new StreamPair({ reliable: false });

    pair.harness.stream.suspend('cut off');

    expect(pair.harness.ended).toEqual(['cut off']);
  });
});

describe('a message of 200 kB', () => {
  it.each([
    ['four records without acknowledgements', { reliable: false }, 4],
    ['four before they are agreed on', { reliable: true, isAgreed: false }, 4],
    ['one with acknowledgements', { reliable: true }, 1],
  ])('takes %s', async (_, options, records) => {
    const pair = new StreamPair(options);
    const [message] = messages(1, 200_000);

    sendAll(pair.harness, [message!]);
    await settled();

    expect(sentBy(pair.harness).filter((frame) => frame.startsWith('data'))).toHaveLength(records);
    expect(pair.environment.received.map((one) => one.equals(message!))).toEqual([true]);
  });

  it('is taken as one record by an end that has offered acknowledgements and waits for the answer', async () => {
    const pair = new StreamPair({ reliable: true, isAgreed: false });
    const [message] = messages(1, 200_000);

    sendAll(pair.environment, [message!]);
    await settled();

    expect([sentBy(pair.environment), pair.harness.ended]).toEqual([['data 0'], []]);
    expect(pair.harness.received.map((one) => one.equals(message!))).toEqual([true]);
  });
});

describe('a stream with acknowledgements', () => {
  it('acknowledges after 20 ms, after 32 records, or after 512 KiB', async () => {
    const pair = new StreamPair({ reliable: true });

    sendAll(pair.harness, messages(31));
    await pair.clock.advance(19);
    expect(sentBy(pair.environment)).toEqual([]);
    await pair.clock.advance(1);
    sendAll(pair.harness, messages(32));
    await settled();
    sendAll(pair.harness, messages(9, 60_000));
    await settled();

    expect(sentBy(pair.environment)).toEqual(['ack ack 30', 'ack ack 62', 'ack ack 71']);
  });

  it('acknowledges along with data', async () => {
    const pair = new StreamPair({ reliable: true });
    sendAll(pair.harness, messages(3));
    await settled();

    sendAll(pair.environment, messages(1));
    await pair.clock.advance(0);

    expect([sentBy(pair.environment), pair.harness.delivered]).toEqual([['data 0 ack 2'], [0, 1, 2]]);
    await pair.clock.advance(19);
    expect(sentBy(pair.environment)).toEqual(['data 0 ack 2']);
  });

  it('does not treat data as the acknowledgement of the first record: its number is the default', async () => {
    const pair = new StreamPair({ reliable: true });
    sendAll(pair.harness, messages(1));
    await settled();

    sendAll(pair.environment, messages(1));
    await settled();
    expect([sentBy(pair.environment), pair.harness.delivered]).toEqual([['data 0'], []]);
    await pair.clock.advance(20);

    expect([sentBy(pair.environment), pair.harness.delivered]).toEqual([['data 0', 'ack ack 0'], [0]]);
  });

  it('acknowledges at once the records behind a gap', async () => {
    const pair = new StreamPair({ reliable: true, forth: [{ type: 'pass' }, drop, { type: 'pass' }, drop] });

    sendAll(pair.harness, messages(5));
    await settled();

    expect(sentBy(pair.environment)).toEqual(['ack ack 0 10', 'ack ack 0 1010']);
  });

  it('lets the sender go on as soon as a busy application has taken something', async () => {
    const pair = new StreamPair({ reliable: true });
    const busy = deferred();
    let taken = 0;
    pair.environment.stream.open(() => {
      taken++;
      return busy.promise;
    });
    sendAll(pair.harness, messages(400));
    await pair.clock.advance(10_000);
    const before = { taken, at: pair.clock.now() };

    busy.resolve();
    while (taken < 400) await settled();

    expect([before, pair.clock.now()]).toEqual([{ taken: 1, at: 10_000 }, 10_000]);
  });

  it('repeats nothing while the connection has no room for it', async () => {
    const pair = new StreamPair({ reliable: true, forth: [drop, drop] });
    const makeRoom = pair.harness.transport.fill();

    sendAll(pair.harness, messages(2));
    await pair.clock.advance(5000);
    expect(sentBy(pair.harness)).toEqual(['data 0']);
    makeRoom();
    await pair.runUntil(() => pair.environment.received.length === 2);

    expect(pair.harness.ended).toEqual([]);
  });

  it('sends again on a new connection only as much as there is room for', async () => {
    const pair = new StreamPair({ reliable: true, forth: Array.from({ length: 64 }, () => drop) });
    sendAll(pair.harness, messages(64));
    const { stream, transport } = pair.harness;
    stream.suspend('cut off');
    const makeRoom = transport.fill();
    const before = transport.sent.length;

    stream.attach(transport);
    await settled();
    expect([sentBy(pair.harness).slice(before), sentBy(pair.environment)]).toEqual([
      ['resume', 'data 0'],
      ['heartbeat'],
    ]);
    makeRoom();
    await pair.runUntil(() => pair.environment.received.length === 64);

    expect(pair.clock.now()).toBe(0);
  });

  it('answers a request to resume once, however often the network repeats it, and sends the missing records', async () => {
    const pair = new StreamPair({ reliable: true, forth: [drop, drop, { type: 'pass' }, { type: 'duplicate' }] });
    sendAll(pair.harness, messages(3));
    await settled();

    pair.harness.stream.suspend('cut off');
    pair.harness.stream.attach(pair.harness.transport);
    await settled();
    await settled();

    expect(sentBy(pair.harness)).toEqual(['data 0', 'data 1', 'data 2', 'resume', 'data 0', 'data 1', 'data 2']);
    expect([pair.environment.received.length, pair.harness.delivered]).toEqual([3, [0, 1, 2]]);
    expect(pair.clock.now()).toBe(0);
  });

  it('knows of a peer that is silent before its heartbeats are missed', async () => {
    const pair = new StreamPair({ reliable: true, back: Array.from({ length: 8 }, () => drop) });

    const answers = pair.environment.stream.answers(2000);
    await pair.clock.advance(2000);

    expect([await answers, pair.environment.ended]).toEqual([false, []]);
  });

  it('gets an answer at once from a peer that is there, even if that has nothing to send', async () => {
    const pair = new StreamPair({ reliable: true });

    expect(await pair.environment.stream.answers(2000)).toBe(true);
    expect(pair.clock.now()).toBe(0);
  });

  it('waits for the last acknowledgement when it is closed, and not when it is destroyed', async () => {
    const [patient, hurried] = [new StreamPair({ reliable: true, forth: [drop] }), new StreamPair({ reliable: true })];

    for (const { harness } of [patient, hurried]) sendAll(harness, messages(1));
    patient.harness.stream.close();
    hurried.harness.stream.destroy();
    await settled();
    expect([patient.harness.ended, hurried.harness.ended]).toEqual([[], ['closed']]);
    await patient.runUntil(() => patient.environment.ended.length > 0);

    expect(patient.environment.received).toHaveLength(1);
    expect(hurried.environment.received).toHaveLength(1);
  });
});

describe('a stream that has offered acknowledgements', () => {
  it('tolerates a gap when the peer agrees later, and acknowledges at once the records that have arrived', async () => {
    const lost = Array.from({ length: 8 }, () => drop); // eight repetitions take more than ten seconds
    const pair = new StreamPair({
      reliable: true,
      isAgreed: false,
      back: [{ type: 'pass' }, drop, { type: 'pass' }, ...lost],
    });
    sendAll(pair.environment, messages(3));
    await settled();
    expect([pair.harness.received.length, sentBy(pair.harness)]).toEqual([1, []]);

    void pair.harness.stream.receive({ streamId: 's', body: { type: 'heartbeat' } });
    expect(sentBy(pair.harness)).toEqual(['ack ack 0 10']);
    await pair.clock.advance(20_000);

    expect([pair.harness.received.length, pair.harness.ended]).toEqual([3, []]);
  });
});
