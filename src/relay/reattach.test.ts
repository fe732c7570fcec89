import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settled } from '../../test/relay/fake-clock.ts';
import type { MemoryTransport } from '../../test/relay/memory-transport.ts';
import { RelayRig, until } from '../../test/relay/relay-rig.ts';
import { deferred } from '../base/index.ts';
import { decodeFrame, type EncryptedEnvironmentOptions } from './index.ts';

/** A harness and an environment that acknowledge deliveries; the harness can reconnect. */
async function reliableRig(options: Partial<EncryptedEnvironmentOptions> = {}) {
  const rig = new RelayRig(options);
  const transports: MemoryTransport[] = [];
  let failures = 0;
  const harness = await rig.openHarness({
    reattach: async () => {
      if (failures > 0) {
        failures--;
        throw new Error('not now');
      }
      transports.push(rig.rendezvous.connectHarness());
      return transports.at(-1)!;
    },
  });
  transports.push(harness.transport);
  await settled();
  const { link: far } = rig.accepted[0]!;
  const failNext = (count: number): void => {
    failures = count;
  };
  const isClosed = { harness: false, environment: false };
  void harness.link.closed.then(() => {
    isClosed.harness = true;
  });
  void far.closed.then(() => {
    isClosed.environment = true;
  });
  return { ...harness, rig, transports, far, failNext, isClosed };
}

const kinds = (frames: readonly Uint8Array[]): string[] => frames.map((frame) => decodeFrame(frame).body.type);
const numbers = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `message ${from + at}`);

describe('acknowledged delivery', () => {
  it('is agreed on by two heartbeats', async () => {
    const { rig, transport } = await reliableRig();

    expect(rig.accepted[0]!.facts.reliable).toBe(true);
    expect(kinds(transport.sent)).toEqual(['resume', 'heartbeat', 'handshake']);
    expect(kinds(rig.environment.sent)).toEqual(['handshake', 'heartbeat']);
  });

  it('is not offered by a harness without the option', async () => {
    const rig = new RelayRig();
    const { link, received } = await rig.openHarness({
      reliable: false,
      reattach: () => Promise.reject(new Error('no')),
    });

    void link.send('hello');
    await until(() => received.length === 1);
    await rig.clock.advance(60_000);

    expect(rig.accepted[0]!.facts.reliable).toBe(false);
    expect(kinds(rig.environment.sent)).toEqual(['handshake', 'data']);
  });

  it('reports a delivery when the other end has the message, not before', async () => {
    const { link, rig } = await reliableRig();
    const delivered: string[] = [];

    void link.send('a', () => void delivered.push('a'));
    link.probe();
    await settled();
    expect(delivered).toEqual([]);
    await rig.clock.advance(20);

    expect(delivered).toEqual(['a']);
  });

  it('is agreed on although the heartbeat of the environment is lost: its first acknowledgement means the same', async () => {
    const rig = new RelayRig();
    const transport = rig.rendezvous.connectHarness(undefined, (frame, deliver) => {
      if (decodeFrame(frame).body.type !== 'heartbeat') deliver(frame);
    });
    const { link, received } = await rig.openHarness({ reattach: () => Promise.reject(new Error('no')) }, transport);
    const delivered: number[] = [];

    for (let at = 0; at < 10; at++) void link.send(`message ${at}`, () => void delivered.push(at));
    await rig.clock.advance(100);

    expect([received.length, delivered.length]).toEqual([10, 10]);
  });

  it('is not used with an executor that does not answer the offer', async () => {
    const rig = new RelayRig();
    const isUpstream = (frame: Uint8Array): boolean => !['heartbeat', 'ack'].includes(decodeFrame(frame).body.type);
    const transport = rig.rendezvous.connectHarness((frame, deliver) => isUpstream(frame) && deliver(frame));
    const { link, received } = await rig.openHarness({ reattach: () => Promise.reject(new Error('no')) }, transport);

    for (const message of numbers(0, 200)) void link.send(message);
    await until(() => received.length === 200);
    await rig.clock.advance(120_000);

    expect(received).toEqual(numbers(0, 200));
    expect(kinds(transport.sent).filter((kind) => kind === 'data')).toHaveLength(200);
  });

  it('that begins after the offer has lapsed ends the stream, because the frames sent before are forgotten', async () => {
    const rig = new RelayRig();
    const late: (() => void)[] = [];
    const transport = rig.rendezvous.connectHarness(undefined, (frame, deliver) => {
      const isTelling = ['heartbeat', 'ack'].includes(decodeFrame(frame).body.type);
      if (isTelling) late.push(() => deliver(frame));
      else deliver(frame);
    });
    const { link } = await rig.openHarness({ reattach: () => Promise.reject(new Error('no')) }, transport);
    for (const message of numbers(0, 65)) void link.send(message);
    await settled();

    for (const deliver of late) deliver();

    await link.closed;
  });

  it('sends a heartbeat after ten seconds without another frame, and none while data is sent', async () => {
    const { link, rig, transport } = await reliableRig();
    const beats = (): number => kinds(transport.sent).filter((kind) => kind === 'heartbeat').length - 1;

    await rig.clock.advance(25_000);
    expect(beats()).toBe(2);
    for (let second = 0; second < 30; second++) {
      void link.send('busy');
      await rig.clock.advance(1000);
    }

    expect(beats()).toBe(2);
  });

  it('slows down only the stream whose application is busy, and loses nothing', async () => {
    const busy = deferred();
    const heard: string[] = [];
    const { rig, link, far, transport } = await reliableRig();
    const other = await rig.openHarness();
    far.open((message) => {
      heard.push(Buffer.from(message).toString());
      return busy.promise;
    });
    const long = numbers(0, 300).map((text) => text.padEnd(50_000, '.'));
    const sending = long.map((message) => link.send(message));
    await rig.clock.advance(60_000);
    const waiting = { heard: heard.length, isSending: sending.at(-1) !== undefined };
    void other.link.send('fast');
    await until(() => other.received.length === 1);
    const sent = new Set(
      transport.sent.map((frame) => decodeFrame(frame).body).map((body) => body.type === 'data' && body.seq),
    );

    busy.resolve();
    await until(() => heard.length > 1);
    await rig.clock.advance(10_000);
    await Promise.all(sending);

    expect(waiting).toEqual({ heard: 1, isSending: true });
    expect(sent.size).toBeLessThan(100);
    expect(heard).toEqual(long);
  });
});

describe('a stream with acknowledged delivery', () => {
  it('goes on when the harness has lost its connection, without loss or repetition', async () => {
    const { link, received, rig, transport, transports } = await reliableRig();
    for (const message of numbers(0, 30)) void link.send(message);
    await until(() => received.length === 30);

    transport.close();
    for (const message of numbers(30, 30)) void link.send(message);
    await until(() => transports.length === 2);
    await rig.clock.advance(1000);

    expect(received).toEqual(numbers(0, 60));
    expect(kinds(transports[1]!.sent)[0]).toBe('resume');
    await rig.clock.advance(30_000);
    expect(rig.streams.activeStreams).toBe(1);
  });

  it('goes on when the environment has lost its connection', async () => {
    const { link, received, rig, isClosed } = await reliableRig();
    const delivered: number[] = [];
    rig.environment.close();
    await settled();
    for (let at = 0; at < 30; at++) void link.send(`message ${at}`, () => void delivered.push(at));
    await rig.clock.advance(19_000);
    expect(received).toEqual([]);

    rig.reconnectEnvironment();
    await rig.clock.advance(1000);

    expect([received, delivered.length]).toEqual([numbers(0, 30), 30]);
    await rig.clock.advance(30_000);
    expect(isClosed).toEqual({ harness: false, environment: false });
  });

  it('tries again to open a connection', async () => {
    const { link, received, rig, transport, failNext } = await reliableRig();
    failNext(4);
    transport.close();
    void link.send('patience');

    await rig.clock.advance(249 + 500 + 1000 + 2000);
    expect(received).toEqual([]);
    await rig.clock.advance(1000);

    expect(received).toEqual(['patience']);
  });

  it('ends at both ends when there is no connection for twenty seconds', async () => {
    const { rig, transport, failNext, isClosed } = await reliableRig();
    failNext(1000);
    transport.close();
    rig.environment.close();

    await rig.clock.advance(19_999);
    expect(isClosed).toEqual({ harness: false, environment: false });
    await rig.clock.advance(1);

    expect(isClosed).toEqual({ harness: true, environment: true });
  });

  it('ends when the new connection does not lead to the peer within twenty seconds', async () => {
    const { rig, transport, isClosed } = await reliableRig();
    await using _ = rig.streams;
    rig.environment.close();
    transport.close();
    await rig.clock.advance(20_000);

    expect(isClosed).toEqual({ harness: true, environment: true });
  });

  it('ends when the environment has forgotten it', async () => {
    const { link, rig, transport, received } = await reliableRig();
    void link.send('hello');
    await until(() => received.length === 1);
    rig.environment.close();
    const restarted = new RelayRig();
    const next = rig.rendezvous.connectEnvironment();
    restarted.streams.attach(next);

    transport.close();

    await link.closed;
  });

  it('ends with the connection while it is closing', async () => {
    const { link, rig, transport } = await reliableRig();
    rig.environment.close();
    void link.send('last words');
    link.close();

    transport.close();

    await link.closed;
  });

  it('opens another connection when it receives nothing for thirty seconds', async () => {
    const { rig, transport, transports, isClosed, received, link } = await reliableRig();
    transport.open(() => {}); // drops every frame

    await rig.clock.advance(40_000);
    void link.send('hello');
    await rig.clock.advance(1000);

    expect([transport.isOver, transports.length, isClosed.harness, received]).toEqual([true, 2, false, ['hello']]);
  });

  it('ends in the environment when the harness is silent for thirty seconds', async () => {
    const { rig, transport, isClosed, failNext } = await reliableRig();
    failNext(1000);
    transport.close();

    await rig.clock.advance(29_999);
    expect(isClosed.environment).toBe(false);
    await rig.clock.advance(10_001);

    expect(isClosed.environment).toBe(true);
    expect(rig.events).toContain('relay.stream_ended: the peer is silent');
  });

  it('closes when everything it sent is acknowledged', async () => {
    const { link, rig, far } = await reliableRig();
    const heard: string[] = [];
    far.open((message) => void heard.push(Buffer.from(message).toString()));

    for (const message of numbers(0, 100)) void link.send(message);
    link.close();
    await rig.clock.advance(500);

    await link.closed;
    expect(heard).toEqual(numbers(0, 100));
  });

  it('delivers everything once, however often either end loses its connection', async () => {
    const event = fc.record({
      send: fc.integer({ min: 0, max: 20 }),
      cut: fc.constantFrom('none', 'harness', 'environment', 'both'),
      ms: fc.integer({ min: 0, max: 3000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
        const { link, received, rig, transports } = await reliableRig();
        let sent = 0;
        for (const { send, cut, ms } of events) {
          for (const message of numbers(sent, send)) void link.send(message);
          sent += send;
          if (cut === 'harness' || cut === 'both') transports.at(-1)!.close();
          if (cut === 'environment' || cut === 'both') rig.environment.close();
          await rig.clock.advance(ms);
          if (rig.environment.isOver) rig.reconnectEnvironment();
        }
        await rig.clock.advance(20_000);

        expect(received).toEqual(numbers(0, sent));
      }),
      { numRuns: 30 },
    );
  });
});
