import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Endpoint, establish, establishReliable, handshake, randomKey, startRendezvous } from './fixture.ts';

const reset = (streamId: string, reason: string) => ({ streamId, type: 'reset', reason });

describe('the rendezvous', () => {
  it('moves frames of a stream unchanged and in order, both ways', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = harness.begin();
    harness.send(stream, handshake('one'));
    for (let seq = 0; seq < 100; seq++) harness.data(stream, seq);

    expect(await environment.take(102)).toEqual([
      { streamId: stream, type: 'resume', nextSeq: 0 },
      { streamId: stream, type: 'handshake', text: 'one' },
      ...Array.from({ length: 100 }, (_, seq) => ({ streamId: stream, type: 'data', seq, text: `${seq}` })),
    ]);

    environment.send(stream, handshake('two'));
    for (let seq = 0; seq < 100; seq++) environment.data(stream, seq);

    expect(await harness.take(101)).toEqual([
      { streamId: stream, type: 'handshake', text: 'two' },
      ...Array.from({ length: 100 }, (_, seq) => ({ streamId: stream, type: 'data', seq, text: `${seq}` })),
    ]);
  });

  it('keeps the streams of different harnesses apart', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using first = await service.harness();
    await using second = await service.harness();
    const one = await establish(first, environment);
    const two = await establish(second, environment);

    environment.data(two, 0, 'for the second');
    environment.data(one, 0, 'for the first');

    expect([await first.next(), await second.next()]).toEqual([
      { streamId: one, type: 'data', seq: 0, text: 'for the first' },
      { streamId: two, type: 'data', seq: 0, text: 'for the second' },
    ]);
  });

  it('resets a stream id that another socket uses, and leaves its owner alone', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using owner = await service.harness();
    await using other = await service.harness();
    const stream = await establish(owner, environment);

    other.begin(stream);

    expect(await other.next()).toEqual(reset(stream, 'stream_in_use'));
    owner.data(stream, 0, 'still here');
    expect(await environment.next()).toEqual({ streamId: stream, type: 'data', seq: 0, text: 'still here' });
  });

  it('tells the environment at once that the streams of a harness are over when its socket ends', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const one = await establish(harness, environment);
    const two = await establish(harness, environment);

    harness.ws.terminate();

    expect(await environment.take(2)).toEqual([reset(one, 'harness_disconnected'), reset(two, 'harness_disconnected')]);
  });

  it('resets every harness stream when the environment’s socket ends, and hands out no bundle until it is back', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, environment);
    environment.ws.terminate();

    expect(await harness.next()).toEqual(reset(stream, 'environment_offline'));
    const { status, body } = await service.connect('env');
    expect([status, body.error?.code]).toEqual([409, 'environment_offline']);

    await using _again = await Endpoint.open(environment.registration.body.url!);
    expect((await service.connect('env')).status).toBe(200);
  });

  it('answers frames for an absent environment with a reset', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const first = await establish(harness, environment);
    environment.ws.terminate();
    await harness.nextOf('reset');

    harness.data(first, 0);
    const second = harness.begin();

    expect(await harness.take(2)).toEqual([reset(first, 'unknown_stream'), reset(second, 'environment_offline')]);
  });

  it('serves a harness that stayed connected when the environment is back', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    await establish(harness, environment);
    environment.ws.terminate();
    await harness.nextOf('reset');

    await using again = await Endpoint.open(environment.registration.body.url!);

    const stream = await establish(harness, again);
    harness.data(stream, 0, 'as before');
    expect(await again.next()).toEqual({ streamId: stream, type: 'data', seq: 0, text: 'as before' });
  });

  it('lets a newer socket of the environment replace the older one and resets the streams of that', async () => {
    await using service = await startRendezvous();
    await using older = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, older);

    await using newer = await Endpoint.open(older.registration.body.url!);

    expect(await older.closed).toBe(4409);
    expect(await harness.next()).toEqual(reset(stream, 'environment_offline'));
    await establish(harness, newer);
  });

  it('closes the sockets of a registration that a newer one replaces, and refuses its URL', async () => {
    await using service = await startRendezvous();
    await using older = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, older);

    await using _newer = await service.environment();

    expect(await harness.next()).toEqual(reset(stream, 'environment_offline'));
    expect([await older.closed, await harness.closed]).toEqual([4409, 4409]);
    expect(await Endpoint.refusal(older.registration.body.url!)).toBe(401);
  });

  it.each(['harness', 'environment'] as const)('resets both ends when a frame of the %s is missing', async (role) => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, environment);
    const sender = role === 'harness' ? harness : environment;
    const receiver = role === 'harness' ? environment : harness;
    sender.data(stream, 0);
    sender.data(stream, 2);

    expect(await receiver.take(2)).toEqual([
      { streamId: stream, type: 'data', seq: 0, text: '0' },
      reset(stream, 'frame_lost'),
    ]);
    expect(await sender.next()).toEqual(reset(stream, 'frame_lost'));
  });

  it('passes repeated frames on: receivers recognise them', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, environment);
    for (const seq of [0, 1, 1, 0, 2]) harness.data(stream, seq);

    expect((await environment.take(5)).map(({ seq }) => seq)).toEqual([0, 1, 1, 0, 2]);
  });

  it('passes resets on from either end, after the frames before them', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const one = await establish(harness, environment);
    environment.data(one, 0, 'last words');
    environment.send(one, { type: 'reset', reason: 'done' });
    expect(await harness.take(2)).toEqual([
      { streamId: one, type: 'data', seq: 0, text: 'last words' },
      reset(one, 'done'),
    ]);

    const two = await establish(harness, environment);
    harness.send(two, { type: 'reset', reason: 'enough' });
    expect(await environment.next()).toEqual(reset(two, 'enough'));
  });

  it('closes a harness that sends text or an invalid frame', async () => {
    await using service = await startRendezvous();
    await using _environment = await service.environment();
    const codes: number[] = [];
    for (const message of ['text', Buffer.from('{"type":"gone"}'), Buffer.from([0xff, 0xff]), Buffer.alloc(0)]) {
      await using harness = await service.harness();
      harness.ws.send(message);
      codes.push(await harness.closed);
    }

    expect(codes).toEqual([1003, 1008, 1008, 1008]);
  });

  it.each(['', 'a b', 'x'.repeat(65), 'ünï'])('closes a harness that calls a stream %j', async (streamId) => {
    await using service = await startRendezvous();
    await using _environment = await service.environment();
    await using harness = await service.harness();

    harness.begin(streamId);

    expect(await harness.closed).toBe(1008);
  });

  it('drops invalid frames of an environment', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establish(harness, environment);
    environment.ws.send(Buffer.from([0xff, 0xff]));
    environment.ws.send(Buffer.from('{"type":"gone"}'));
    environment.data(stream, 0, 'still here');

    expect(await harness.next()).toEqual({ streamId: stream, type: 'data', seq: 0, text: 'still here' });
  });

  it('resets a stream of an environment that no harness has, but not one with an invalid id', async () => {
    await using service = await startRendezvous({ limits: { reattachMs: 0 } });
    await using environment = await service.environment();
    const stream = randomUUID();

    environment.data('x'.repeat(100_000), 0);
    environment.data(stream, 0);

    expect(await environment.next()).toEqual(reset(stream, 'unknown_stream'));
  });
});

describe('a stream between endpoints that resend lost frames', () => {
  it('goes on over a gap', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establishReliable(harness, environment);
    for (const seq of [0, 5, 3]) harness.data(stream, seq);

    expect((await environment.take(3)).map(({ seq }) => seq)).toEqual([0, 5, 3]);
  });

  it('waits for a harness that comes back with the same key', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    const key = randomKey();
    await using before = await service.harness('env', key);
    const stream = await establishReliable(before, environment);
    before.ws.terminate();
    await before.closed;
    await using thief = await service.harness();
    thief.send(stream, { type: 'resume', nextSeq: 0 });
    expect(await thief.next()).toEqual(reset(stream, 'stream_in_use'));

    await using after = await service.harness('env', key);
    after.send(stream, { type: 'resume', nextSeq: 7 });

    expect(await environment.next()).toEqual({ streamId: stream, type: 'resume', nextSeq: 7 });
    environment.data(stream, 9);
    expect(await after.next()).toEqual({ streamId: stream, type: 'data', seq: 9, text: '9' });
  });

  it('waits for an environment that comes back', async () => {
    await using service = await startRendezvous();
    await using before = await service.environment();
    await using harness = await service.harness();
    const stream = await establishReliable(harness, before);
    before.ws.terminate();
    await before.closed;

    await using after = await Endpoint.open(before.registration.body.url!);
    after.send(stream, { type: 'resume', nextSeq: 3 });

    expect(await harness.next()).toEqual({ streamId: stream, type: 'resume', nextSeq: 3 });
    harness.data(stream, 8);
    expect(await after.next()).toEqual({ streamId: stream, type: 'data', seq: 8, text: '8' });
  });

  it('waits for both when they lose their sockets together', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    const key = randomKey();
    await using harness = await service.harness('env', key);
    const stream = await establishReliable(harness, environment);
    environment.ws.terminate();
    harness.ws.terminate();
    await Promise.all([environment.closed, harness.closed]);

    await using thereAgain = await Endpoint.open(environment.registration.body.url!);
    thereAgain.send(stream, { type: 'resume', nextSeq: 3 }); // no harness is connected to receive it
    await using hereAgain = await service.harness('env', key);
    hereAgain.send(stream, { type: 'resume', nextSeq: 7 });
    hereAgain.data(stream, 3);

    expect(await thereAgain.take(2)).toMatchObject([
      { streamId: stream, type: 'resume', nextSeq: 7 },
      { streamId: stream, type: 'data', seq: 3 },
    ]);
    thereAgain.data(stream, 7);
    expect(await hereAgain.next()).toMatchObject({ streamId: stream, type: 'data', seq: 7 });
  });

  it.each(['harness', 'environment'] as const)('is reset when the %s stays away', async (role) => {
    await using service = await startRendezvous({ limits: { reattachMs: 1 } });
    await using environment = await service.environment();
    await using harness = await service.harness();
    const stream = await establishReliable(harness, environment);
    const [leaves, stays] = role === 'harness' ? [harness, environment] : [environment, harness];

    leaves.ws.terminate();

    const reason = role === 'harness' ? 'harness_disconnected' : 'environment_offline';
    expect(await stays.next()).toEqual(reset(stream, reason));
  });
});
