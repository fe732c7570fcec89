import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encodeFrame } from '../../../src/relay/index.ts';
import { data, Endpoint, establish, handshake, randomKey, startRendezvous, type TestRendezvous } from './fixture.ts';

const reset = (streamId: string, reason: string) => ({ streamId, type: 'reset', reason });

/** A data frame of exactly so many bytes. */
function frameOf(bytes: number, streamId: string): Uint8Array {
  const overhead = encodeFrame({ streamId, body: data(0, Buffer.alloc(bytes)) }).length - bytes;
  return encodeFrame({ streamId, body: data(0, Buffer.alloc(bytes - overhead)) });
}

/** As many harnesses as the streams need, each with as many as it may have. */
async function manyStreams(service: TestRendezvous, environment: Endpoint, count: number): Promise<Endpoint[]> {
  const harnesses: Endpoint[] = [];
  for (let n = 0; n < count; n++) {
    if (n % 8 === 0) harnesses.push(await service.harness());
    harnesses.at(-1)!.begin();
    await environment.next();
  }
  return harnesses;
}

describe('the limits of the rendezvous', () => {
  it('allow an environment 128 streams', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await manyStreams(service, environment, 128);
    await using another = await service.harness();

    const stream = another.begin();

    expect(await another.next()).toEqual(reset(stream, 'stream_limit'));
  });

  it('give a stream’s place to another when it is over', async () => {
    await using service = await startRendezvous({ limits: { streamsPerEnvironment: 1 } });
    await using environment = await service.environment();
    await using harness = await service.harness();
    const first = await establish(harness, environment);
    environment.send(first, { type: 'reset', reason: 'done' });
    await harness.nextOf('reset');

    await establish(harness, environment);
  });

  it('allow a harness socket 8 streams', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const streams = Array.from({ length: 9 }, () => harness.begin());

    expect(await harness.next()).toEqual(reset(streams[8]!, 'stream_limit'));
    expect((await environment.take(8)).map(({ streamId }) => streamId)).toEqual(streams.slice(0, 8));
  });

  it('allow a harness socket to begin so many streams, however short they are', async () => {
    await using service = await startRendezvous({ limits: { beginningsPerHarness: 20 } });
    await using _environment = await service.environment();
    await using harness = await service.harness();
    for (let n = 0; n < 20; n++) harness.send(harness.begin(), { type: 'reset', reason: 'done' });

    const stream = harness.begin();

    expect(await harness.next()).toEqual(reset(stream, 'stream_limit'));
  });

  it('pass 6 handshakes at a time and hold the others until it is their turn', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const streams = Array.from({ length: 8 }, () => randomUUID());
    for (const stream of streams) harness.send(stream, handshake());
    expect((await environment.take(6)).map(({ streamId }) => streamId)).toEqual(streams.slice(0, 6));

    environment.send(streams[3]!, handshake());
    environment.send(streams[0]!, handshake());

    expect((await environment.take(2)).map(({ streamId }) => streamId)).toEqual(streams.slice(6));
  });

  it('refuse handshakes while 6 of the last 10 seconds have failed', async () => {
    let now = Date.now();
    await using service = await startRendezvous({ now: () => now });
    await using environment = await service.environment();
    await using harness = await service.harness();
    for (let n = 0; n < 6; n++) {
      const stream = randomUUID();
      harness.send(stream, handshake());
      await environment.nextOf('handshake');
      environment.send(stream, { type: 'reset', reason: 'noise_relay_protocol_error' });
      await harness.nextOf('reset');
    }
    const refused = randomUUID();
    harness.send(refused, handshake());
    expect(await harness.next()).toEqual(reset(refused, 'too_many_handshakes'));

    now += 10_000;
    await establish(harness, environment);
  });

  it('let 262144 bytes pass and close a socket that sends one more', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, environment);
    harness.ws.send(frameOf(262_144, stream));
    expect(await environment.next()).toMatchObject({ streamId: stream, seq: 0 });

    harness.ws.send(frameOf(262_145, stream));

    expect([await environment.next(), await harness.closed]).toEqual([reset(stream, 'harness_disconnected'), 1009]);
  });

  it('allow a node so many sockets', async () => {
    await using service = await startRendezvous({ limits: { socketsPerNode: 2 } });
    await using environment = await service.environment();
    const [one, two] = [(await service.connect('env')).body.url!, (await service.connect('env')).body.url!];
    await using _harness = await Endpoint.open(one);

    expect(await Endpoint.refusal(two)).toBe(503);
    expect(await Endpoint.refusal(environment.registration.body.url!)).toBe(503);
  });

  it('give up on a peer that is silent', async () => {
    await using service = await startRendezvous({ limits: { pingMs: 100, silenceMs: 1000 } });
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, environment);
    harness.ws.pause(); // pongs come from reading

    expect(await environment.next()).toEqual(reset(stream, 'harness_disconnected'));
    expect(environment.ws.readyState).toBe(environment.ws.OPEN);
  });
});

describe('a socket that died silently', () => {
  it('is found when its harness is back on another', async () => {
    await using service = await startRendezvous({ limits: { probeMs: 20 } });
    await using environment = await service.environment();
    const key = randomKey();
    await using dead = await service.harness('env', key);
    const stream = await establish(dead, environment);
    dead.ws.pause();

    await using _alive = await service.harness('env', key);

    expect(await environment.next()).toEqual(reset(stream, 'harness_disconnected'));
  });

  it('is found when a harness asks for its environment', async () => {
    await using service = await startRendezvous({ limits: { probeMs: 20 } });
    await using dead = await service.environment();
    dead.ws.pause();

    while ((await service.connect('env')).status !== 409);
  });
});

describe('a harness that does not read', () => {
  const chunk = Buffer.alloc(60_000, 'x');
  const fast = async (harness: Endpoint, environment: Endpoint): Promise<void> => {
    const stream = await establish(harness, environment);
    environment.data(stream, 0, 'fast');
    expect(await harness.next()).toMatchObject({ streamId: stream, text: 'fast' });
  };

  it('delays no other harness, and loses nothing', async () => {
    await using service = await startRendezvous({ limits: { windowBytes: 500_000, creditBytes: 100_000 } });
    await using environment = await service.environment();
    await using slow = await service.harness();
    await using other = await service.harness();
    const stream = await establish(slow, environment);
    slow.ws.pause();
    const frames = 300; // more than the sockets take by themselves
    for (let seq = 0; seq < frames; seq++) environment.data(stream, seq, chunk);

    await fast(other, environment);
    expect((await service.ask('/metrics')).body.text).toMatch(/^rendezvous_queued_bytes [1-9]\d{6,}$/m);
    slow.ws.resume();

    const received = await slow.take(frames);
    expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: frames }, (_, seq) => seq));
    expect((await service.ask('/metrics')).body.text).toContain('rendezvous_queued_bytes 0\n');
  });

  it('is reset when more waits for it than a stream may have', async () => {
    const limits = { windowBytes: 500_000, creditBytes: 100_000, queueBytesPerStream: 1_000_000 };
    await using service = await startRendezvous({ limits });
    await using environment = await service.environment();
    await using slow = await service.harness();
    await using other = await service.harness();
    const stream = await establish(slow, environment);
    slow.ws.pause();
    for (let seq = 0; seq < 300; seq++) environment.data(stream, seq, chunk);

    expect(await environment.next()).toEqual(reset(stream, 'slow_consumer'));
    await fast(other, environment);
    slow.ws.resume();
    expect(await slow.nextOf('reset')).toEqual(reset(stream, 'slow_consumer'));
  });

  it('is reset when it has taken nothing for too long', async () => {
    const limits = { windowBytes: 100_000, creditBytes: 50_000, stallMs: 1 };
    await using service = await startRendezvous({ limits });
    await using environment = await service.environment();
    await using slow = await service.harness();
    const stream = await establish(slow, environment);
    slow.ws.pause();
    for (let seq = 0; seq < 300; seq++) environment.data(stream, seq, chunk);

    expect(await environment.next()).toEqual(reset(stream, 'slow_consumer'));
  });

  it('makes the environment wait when the memory of the node is full, and nothing is lost', async () => {
    const limits = { windowBytes: 500_000, creditBytes: 100_000, queueBytesPerNode: 2_000_000 };
    await using service = await startRendezvous({ limits });
    await using environment = await service.environment();
    await using slow = await service.harness();
    const stream = await establish(slow, environment);
    slow.ws.pause();
    const frames = 400;
    for (let seq = 0; seq < frames; seq++) environment.data(stream, seq, chunk);
    const metric = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name} (\\d+)$`, 'm').exec((await service.ask('/metrics')).body.text!)?.[1] ?? 0);
    while ((await metric('rendezvous_reading_paused_total')) === 0);

    expect(await metric('rendezvous_queued_bytes')).toBeLessThan(4_000_000);
    slow.ws.resume();
    expect((await slow.take(frames)).map(({ seq }) => seq)).toEqual(Array.from({ length: frames }, (_, seq) => seq));
  });
});

describe('an environment that does not read', () => {
  it('makes its harnesses wait, each by itself, and loses nothing', async () => {
    await using service = await startRendezvous({ limits: { windowBytes: 500_000, creditBytes: 100_000 } });
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, environment);
    environment.ws.pause();
    const frames = 400;
    const chunk = Buffer.alloc(60_000, 'x');
    for (let seq = 0; seq < frames; seq++) harness.data(stream, seq, chunk);
    await using _other = await service.harness(); // the service answers as ever
    expect(harness.ws.bufferedAmount).toBeGreaterThan(0);
    environment.ws.resume();

    const received = await environment.take(frames);
    expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: frames }, (_, seq) => seq));
  });
});
