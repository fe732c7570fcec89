import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/relay/fake-clock.ts';
import { MemoryRendezvous } from '../../../test/relay/memory-rendezvous.ts';
import { type Carrier, type MemoryTransport, transportPair } from '../../../test/relay/memory-transport.ts';
import { until } from '../../../test/relay/relay-rig.ts';
import { silentLogger } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import {
  decodeFrame,
  encodeFrame,
  openPlainHarnessStream,
  PlainEnvironmentStreams,
  type RelayBody,
  type RelayFrame,
} from '../index.ts';
import { firstFrame } from './plain-environment-streams.ts';

const decode = (bytes: Uint8Array): RelayFrame => decodeFrame(bytes, { segments: true });
const kinds = ({ sent }: MemoryTransport): string[] => sent.map((frame) => decode(frame).body.type);
const payloads = ({ sent }: MemoryTransport): number[] =>
  sent.map((frame) => decode(frame).body).flatMap((body) => (body.type === 'data' ? [body.payload.length] : []));
const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => `message ${at}`);
const data = (seq: number, text: string): RelayBody => ({
  type: 'data',
  seq,
  segmentIndex: 0,
  segmentCount: 1,
  payload: Buffer.from(text),
});

/** An environment that echoes and a harness of this package, at a rendezvous in memory. */
function plainRig(forth?: Carrier, back?: Carrier) {
  const clock = new FakeClock();
  const rendezvous = new MemoryRendezvous();
  const accepted: { link: Link; reliable: boolean }[] = [];
  const streams = new PlainEnvironmentStreams({
    accept: (link, { reliable }) => {
      accepted.push({ link, reliable });
      link.open((message) => link.send(message));
    },
    log: silentLogger,
    clock,
  });
  const connectEnvironment = (): MemoryTransport => {
    const transport = rendezvous.connectEnvironment();
    streams.attach(transport);
    return transport;
  };
  const transports: MemoryTransport[] = [];
  const connectHarness = (): MemoryTransport => {
    const transport = rendezvous.connectHarness(forth, back);
    transports.push(transport);
    return transport;
  };
  const environment = connectEnvironment();
  const link = openPlainHarnessStream(connectHarness(), { reattach: async () => connectHarness(), clock });
  const received: string[] = [];
  link.open((message) => void received.push(Buffer.from(message).toString()));
  return { clock, rendezvous, streams, accepted, environment, connectEnvironment, transports, link, received };
}

/** An environment of this package that echoes, and a harness whose frames the test sends. */
function bareEnvironment() {
  const clock = new FakeClock();
  const [outer, inner] = transportPair();
  const streams = new PlainEnvironmentStreams({
    accept: (link) => link.open((message) => link.send(message)),
    log: silentLogger,
    clock,
  });
  streams.attach(inner);
  outer.open(() => {});
  const send = (body: RelayBody, ack = 0): void => void outer.send(encodeFrame({ streamId: 's', ack, body }));
  return { clock, send, sent: () => inner.sent.map((frame) => decode(frame)) };
}

/** A harness of this package, and a peer whose frames the test sends. */
function harnessOfBarePeer() {
  const clock = new FakeClock();
  const [transport, peer] = transportPair();
  const frames: RelayFrame[] = [];
  peer.open((bytes) => void frames.push(decode(bytes)));
  const link = openPlainHarnessStream(transport, { reattach: () => Promise.reject(new Error('no')), clock });
  const received: string[] = [];
  link.open((message) => void received.push(Buffer.from(message).toString()));
  let isClosed = false;
  void link.closed.then(() => {
    isClosed = true;
  });
  const send = (body: RelayBody): void =>
    void peer.send(encodeFrame({ streamId: decode(transport.sent[0]!).streamId, body }));
  return { clock, transport, frames, link, received, send, isClosed: () => isClosed };
}

describe('acknowledged delivery on the plain relay', () => {
  it('is agreed on by a heartbeat after the resume, answered by a heartbeat', async () => {
    const { clock, accepted, environment, transports, link, received } = plainRig();
    let isDelivered = false;

    void link.send('hello', () => {
      isDelivered = true;
    });
    await clock.advance(20);

    expect(kinds(transports[0]!)).toEqual(['resume', 'heartbeat', 'data', 'ack']);
    expect(kinds(environment)).toEqual(['heartbeat', 'data', 'ack']);
    expect([received, isDelivered, accepted.map(({ reliable }) => reliable)]).toEqual([['hello'], true, [true]]);
  });

  it('is not offered by a harness that cannot reconnect', () => {
    const [transport] = transportPair();

    openPlainHarnessStream(transport);

    expect(kinds(transport)).toEqual(['resume']);
  });

  it('delivers everything once when every frame comes twice, and every tenth not at all', async () => {
    let carried = 0;
    const bad: Carrier = (frame, deliver) => {
      if (decode(frame).body.type !== 'data') return deliver(frame);
      if (++carried % 10 === 0) return;
      deliver(frame);
      deliver(frame);
    };
    const { clock, link, received } = plainRig(bad, bad);
    void link.send('agreed');
    await until(() => received.length === 1);

    for (const message of numbers(300)) void link.send(message);
    await clock.advance(60_000);

    expect(received).toEqual(['agreed', ...numbers(300)]);
  });

  it('cuts large messages into segments once it is agreed, so that they fit its window', async () => {
    const { clock, environment, transports, link, received } = plainRig();
    const large = 'x'.repeat(1_000_000);
    void link.send(large);
    await until(() => received.length === 1);
    void link.send(large);
    await clock.advance(1000);

    const cut = [245_760, 245_760, 245_760, 245_760, 16_960];
    expect(payloads(transports[0]!)).toEqual([1_000_000, ...cut]);
    expect(payloads(environment)).toEqual([...cut, ...cut]);
    expect(received.map((message) => message === large)).toEqual([true, true]);
  });

  it('brings over a message that was sent whole and lost before it was agreed', async () => {
    let lost = 0;
    const loseFirst: Carrier = (frame, deliver) => {
      if (decode(frame).body.type !== 'data' || lost++ > 0) deliver(frame);
    };
    const { clock, link, received } = plainRig(loseFirst);

    for (const message of ['first', 'x'.repeat(10_000_000)]) void link.send(message);
    await clock.advance(10_000);

    expect(received.map(({ length }) => length)).toEqual([5, 10_000_000]);
  });

  it('goes on when the harness or the environment has lost its connection', async () => {
    const { clock, streams, accepted, environment, connectEnvironment, transports, link, received } = plainRig();
    for (const message of numbers(10)) void link.send(message);
    await until(() => received.length === 10);

    transports[0]!.close();
    for (const message of numbers(10)) void link.send(message);
    await clock.advance(1000);
    environment.close();
    for (const message of numbers(10)) void link.send(message);
    await clock.advance(15_000);
    expect(received.length).toBe(20);
    connectEnvironment();
    await clock.advance(1000);

    expect(received).toEqual([...numbers(10), ...numbers(10), ...numbers(10)]);
    expect([transports.length, accepted.length, streams.activeStreams]).toEqual([2, 1, 1]);
  });

  it('is not continued by an environment that has forgotten the stream', async () => {
    const { clock, send, sent } = bareEnvironment();

    send({ type: 'resume', nextSeq: 4 });
    send(data(7, 'x'), 3);
    await clock.advance(0);

    const reset = { type: 'reset', reason: 'unknown stream' };
    expect(sent().map(({ body }) => body)).toEqual([reset, reset]);
  });

  it('ends at once when another environment answers a harness that has one record, whose number no data tells', async () => {
    const { clock, rendezvous, link, received } = plainRig();
    void link.send('first');
    await until(() => received.length === 1);
    await clock.advance(50);
    const taken: string[] = [];
    const other = new PlainEnvironmentStreams({
      accept: (stream) =>
        stream.open((message) => {
          taken.push(Buffer.from(message).toString());
          return stream.send(message);
        }),
      log: silentLogger,
      clock,
    });
    other.attach(rendezvous.connectEnvironment());

    void link.send('later');
    await clock.advance(120_000);
    await link.closed;

    expect([received, taken, other.activeStreams]).toEqual([['first'], ['later'], 0]);
  });

  it.each([
    [{ body: data(9, 'x') }, 'begins'],
    [{ body: { type: 'heartbeat' } }, 'offers'],
    [{ body: { type: 'resume', nextSeq: 0 } }, 'nothing'],
    [{ body: { type: 'resume', nextSeq: 1 } }, 'forgotten'],
    [{ ack: 1, body: data(9, 'x') }, 'forgotten'],
    [{ ack: 1, body: { type: 'heartbeat' } }, 'forgotten'],
    [{ ack: 1, body: { type: 'ack' } }, 'forgotten'],
    [{ body: { type: 'ack' } }, 'forgotten'],
    [{ body: { type: 'handshake', payload: Buffer.from('x') } }, 'nothing'],
    [{ ack: 1, body: { type: 'reset', reason: 'x' } }, 'nothing'],
  ] as [Omit<RelayFrame, 'streamId'>, string][])('takes the first frame %j of a stream so: %s', (frame, meaning) => {
    expect(firstFrame({ streamId: 's', ...frame })).toBe(meaning);
  });
});

describe('towards a peer that does not answer the offer', () => {
  it('a harness keeps no window and repeats nothing', async () => {
    const { clock, transport, frames, link } = harnessOfBarePeer();

    for (const message of numbers(200)) void link.send(message);
    await clock.advance(120_000);

    expect(kinds(transport)).toEqual(['resume', 'heartbeat', ...numbers(200).map(() => 'data')]);
    expect(frames.every(({ ack, ackBits }) => ack === 0 && ackBits === 0)).toBe(true);
  });

  it.each([
    ['are all the same', [0, 0, 0, 0]],
    ['begin elsewhere', [7, 8, 9, 10]],
    ['skip some, and start again', [0, 1, 900, 0]],
  ])('a harness takes messages as they come although their numbers %s', async (_, seqs) => {
    const { clock, received, send, isClosed } = harnessOfBarePeer();

    for (const [at, seq] of seqs.entries()) send(data(seq, `message ${at}`));
    await clock.advance(60_000);

    expect([received, isClosed()]).toEqual([numbers(4), false]);
  });

  it('a harness ends a stream whose peer answers after its numbers were out of order', async () => {
    const { clock, send, isClosed } = harnessOfBarePeer();

    send(data(3, 'early'));
    send({ type: 'heartbeat' });
    await clock.advance(0);

    expect(isClosed()).toBe(true);
  });

  it('an environment acknowledges nothing and repeats nothing', async () => {
    const { clock, send, sent } = bareEnvironment();

    send({ type: 'resume', nextSeq: 0 });
    for (const seq of [0, 1, 1, 5]) send(data(seq, 'x'));
    send({ type: 'heartbeat' }); // too late to be an offer
    await clock.advance(120_000);

    expect(sent().map(({ ack, body }) => [ack, body.type === 'data' ? body.seq : body.type])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [0, 3],
    ]);
  });
});
