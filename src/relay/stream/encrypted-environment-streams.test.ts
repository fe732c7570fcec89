import { describe, expect, it } from 'vitest';
import { settled } from '../../../test/relay/fake-clock.ts';
import { transportPair } from '../../../test/relay/memory-transport.ts';
import { executorKeys, harnessKeys, harnessOptions, RelayRig, until } from '../../../test/relay/relay-rig.ts';
import { deferred } from '../../base/index.ts';
import {
  decodeFrame,
  type EncryptedEnvironmentOptions,
  encodeFrame,
  InitiatorHandshake,
  keyFingerprint,
  publicKeyObject,
  type RecordCiphers,
  type RelayBody,
} from '../index.ts';

const RESET = { type: 'reset', reason: 'noise_relay_protocol_error' };

/** A harness whose frames the test sends one by one. */
class BareHarness {
  readonly rig: RelayRig;
  readonly #transport = transportPair();
  readonly frames: { readonly streamId: string; readonly body: RelayBody }[] = [];
  readonly #handshakes = new Map<string, InitiatorHandshake>();

  constructor(options: Partial<EncryptedEnvironmentOptions> = {}) {
    this.rig = new RelayRig(options);
    this.rig.streams.attach(this.#transport[1]);
    this.#transport[0].open((bytes) => {
      const { streamId, body } = decodeFrame(bytes);
      this.frames.push({ streamId, body });
    });
  }

  send(streamId: string, body: RelayBody): void {
    void this.#transport[0].send(encodeFrame({ streamId, body }));
  }

  sendBytes(bytes: Uint8Array): void {
    void this.#transport[0].send(bytes);
  }

  shake(streamId: string, authorization: string | Uint8Array = 'let me in'): void {
    const context = { environmentId: 'env-1', registrationId: 'registration-1', streamId };
    const handshake = new InitiatorHandshake(harnessKeys, publicKeyObject(executorKeys), context);
    this.#handshakes.set(streamId, handshake);
    this.send(streamId, { type: 'handshake', payload: handshake.writeMessage1(Buffer.from(authorization)) });
  }

  /** The frames of a stream that arrived since the last call. */
  async answers(streamId: string): Promise<(RelayBody | undefined)[]> {
    await settled();
    const own = this.frames.filter((frame) => frame.streamId === streamId);
    for (const frame of own) this.frames.splice(this.frames.indexOf(frame), 1);
    return own.map(({ body }) => body);
  }

  async open(streamId: string): Promise<RecordCiphers> {
    this.shake(streamId);
    await until(() => this.frames.some(({ body }) => body.type === 'handshake'));
    const [answer] = await this.answers(streamId);
    if (answer?.type !== 'handshake') throw new Error(`answered with ${answer?.type}`);
    return this.#handshakes.get(streamId)!.readMessage2(answer.payload);
  }

  async echo(streamId: string, { sealer, opener }: RecordCiphers, text: string): Promise<string> {
    const message = Buffer.from(text);
    const plaintext = Buffer.concat([Buffer.from([0, 0, 0, message.length]), message]);
    const { seq } = sealer;
    const payload = Buffer.concat(sealer.seal([plaintext]));
    this.send(streamId, { type: 'data', seq, segmentIndex: 0, segmentCount: 1, payload });
    await until(() => this.frames.length > 0);
    const [answer] = await this.answers(streamId);
    return answer?.type === 'data' ? opener.open(answer.payload).subarray(4).toString() : JSON.stringify(answer);
  }
}

const data = (seq: number, payload = Buffer.from('a record that is not encrypted')): RelayBody => ({
  type: 'data',
  seq,
  segmentIndex: 0,
  segmentCount: 1,
  payload,
});

describe('an environment', () => {
  it('admits a harness that the registry vouches for, and knows its key', async () => {
    const asked: unknown[] = [];
    const harness = new BareHarness({
      validate: async (key, authorization, streamId) => {
        asked.push([keyFingerprint(key), authorization, streamId]);
        return true;
      },
    });

    const ciphers = await harness.open('a');

    const own = publicKeyObject(harnessKeys);
    expect(asked).toEqual([[keyFingerprint(own), 'let me in', 'a']]);
    expect(harness.rig.accepted.map(({ facts }) => facts)).toEqual([
      { harness: {}, streamId: 'a', harnessKey: own, reliable: false },
    ]);
    expect(await harness.echo('a', ciphers, 'hello')).toBe('hello');
  });

  it.each([
    ['says no', async () => false],
    ['cannot be asked', () => Promise.reject(new Error('unreachable'))],
  ])('refuses a harness when the registry %s', async (_, validate) => {
    const harness = new BareHarness({ validate });

    harness.shake('a');

    expect(await harness.answers('a')).toEqual([RESET]);
    expect(harness.rig.accepted).toEqual([]);
  });

  it('refuses a harness when the registry takes longer than ten seconds, and tells the registry to stop', async () => {
    let isStopped = false;
    const harness = new BareHarness({
      validate: (_key, _authorization, _streamId, signal) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            isStopped = true;
          });
        }),
    });
    harness.shake('a');
    await harness.rig.clock.advance(9999);
    expect(await harness.answers('a')).toEqual([]);

    await harness.rig.clock.advance(1);

    expect([await harness.answers('a'), isStopped]).toEqual([[RESET], true]);
  });

  it.each([
    ['is not UTF-8', Uint8Array.of(0xff)],
    ['is longer than 4096 bytes', 'x'.repeat(4097)],
  ])('refuses an authorization that %s', async (_, authorization) => {
    const harness = new BareHarness({ validate: async () => true });

    harness.shake('a', authorization);

    expect(await harness.answers('a')).toEqual([RESET]);
  });

  it('accepts an authorization of 4096 bytes', async () => {
    const harness = new BareHarness({ validate: async () => true });

    harness.shake('a', 'x'.repeat(4096));

    expect((await harness.answers('a')).map((body) => body?.type)).toEqual(['handshake']);
  });

  it('keeps a stream although a second handshake comes for it', async () => {
    const harness = new BareHarness();
    const ciphers = await harness.open('a');

    harness.shake('a');

    expect(await harness.answers('a')).toEqual([RESET]);
    expect(await harness.echo('a', ciphers, 'still here')).toBe('still here');
  });

  it('drops a handshake that is begun again before the registry has answered', async () => {
    const answer = deferred<boolean>();
    const harness = new BareHarness({ validate: () => answer.promise });
    harness.shake('a');
    harness.shake('a');
    expect(await harness.answers('a')).toEqual([RESET]);

    answer.resolve(true);

    expect([await harness.answers('a'), harness.rig.accepted]).toEqual([[], []]);
  });

  it('drops a handshake when data comes before the registry has answered, or a reset', async () => {
    const answer = deferred<boolean>();
    const harness = new BareHarness({ validate: () => answer.promise });
    harness.shake('a');
    harness.shake('b');
    harness.send('a', data(0));
    harness.send('b', { type: 'reset', reason: 'gone' });
    await settled();

    answer.resolve(true);

    expect([await harness.answers('a'), await harness.answers('b'), harness.rig.accepted]).toEqual([[RESET], [], []]);
  });

  it('answers data of an unknown stream with a reset, every time', async () => {
    const harness = new BareHarness();

    harness.send('a', data(0));
    harness.send('a', data(1));

    expect(await harness.answers('a')).toEqual([RESET, RESET]);
  });

  it('queues a bounded number of resets for a rendezvous that does not read', async () => {
    const [near, far] = transportPair();
    const { streams } = new RelayRig();
    streams.attach(far);
    const empty = far.fill();
    const ask = (): void => streams.receive(encodeFrame({ streamId: 'unknown', body: data(0) }));
    for (let n = 0; n < 1000; n++) ask();
    expect(far.sent).toHaveLength(256);

    empty();
    await settled();
    ask();

    expect(far.sent).toHaveLength(257);
    near.close();
  });

  it('ignores bytes that are not a frame, and frames that mean nothing to it', async () => {
    const harness = new BareHarness();
    const ciphers = await harness.open('a');

    harness.sendBytes(Buffer.from('garbage'));
    harness.sendBytes(encodeFrame({ streamId: 'a', body: { ...data(0), segmentCount: 2 } as RelayBody }));
    for (const body of [{ type: 'ack' }, { type: 'heartbeat' }, { type: 'resume', nextSeq: 9 }] as const) {
      harness.send('a', body);
    }

    expect(await harness.echo('a', ciphers, 'still here')).toBe('still here');
  });

  it('ends a stream whose record is wrong, and no other', async () => {
    const harness = new BareHarness();
    await harness.open('a');
    const other = await harness.open('b');

    harness.send('a', data(0));

    expect(await harness.answers('a')).toEqual([RESET]);
    expect(harness.rig.events).toContain('relay.stream_ended: record is not authentic');
    expect(await harness.echo('b', other, 'untouched')).toBe('untouched');
  });

  it('ends a stream when told, without an answer', async () => {
    const harness = new BareHarness();
    await harness.open('a');

    harness.send('a', { type: 'reset', reason: 'whatever the peer says' });

    expect([await harness.answers('a'), harness.rig.streams.activeStreams]).toEqual([[], 0]);
    await harness.rig.accepted[0]!.link.closed;
    expect(harness.rig.events.join()).not.toContain('whatever');
  });

  it('tells the harness when the application ends the connection', async () => {
    const harness = new BareHarness();
    await harness.open('a');
    const { link } = harness.rig.accepted[0]!;

    void link.send('last words');
    link.destroy();

    expect((await harness.answers('a')).map((body) => body?.type)).toEqual(['data', 'reset']);
  });

  it('serves as many streams as it may and refuses the next', async () => {
    const harness = new BareHarness({ limits: { activeStreams: 3 } });
    for (const id of ['a', 'b', 'c']) await harness.open(id);

    harness.shake('d');
    expect(await harness.answers('d')).toEqual([RESET]);
    harness.send('a', { type: 'reset', reason: 'gone' });

    await harness.open('d');
    expect(harness.rig.streams.activeStreams).toBe(3);
  });

  it('counts streams again when the registry has answered', async () => {
    const answer = deferred<boolean>();
    const harness = new BareHarness({ limits: { activeStreams: 1 }, validate: () => answer.promise });
    harness.shake('a');
    harness.shake('b');
    await settled();

    answer.resolve(true);

    expect((await harness.answers('a')).map((body) => body?.type)).toEqual(['handshake']);
    expect(await harness.answers('b')).toEqual([RESET]);
  });

  it('asks the registry about 32 harnesses at a time and refuses the next', async () => {
    const harness = new BareHarness({ validate: () => new Promise(() => {}) });

    for (let at = 0; at < 33; at++) harness.shake(`stream-${at}`);

    expect([await harness.answers('stream-31'), await harness.answers('stream-32')]).toEqual([[], [RESET]]);
  });

  it('examines no handshake for ten seconds after eight have failed, even if others succeeded in between', async () => {
    let asked = 0;
    const harness = new BareHarness({
      validate: async (_key, authorization) => {
        asked++;
        return authorization === 'let me in';
      },
    });
    const ciphers = await harness.open('good');
    for (let at = 0; at < 8; at++) {
      harness.shake(`bad-${at}`, 'wrong');
      expect(await harness.answers(`bad-${at}`)).toEqual([RESET]);
      if (at === 6) await harness.open('between');
    }
    expect(asked).toBe(10);

    harness.shake('refused');
    expect([await harness.answers('refused'), asked]).toEqual([[RESET], 10]);
    expect(await harness.echo('good', ciphers, 'goes on')).toBe('goes on');
    await harness.rig.clock.advance(10_000);

    await harness.open('welcome again');
  });

  it('ends its streams and handshakes with the connection, and starts with a fresh budget on the next', async () => {
    const harness = new BareHarness({ limits: { handshakeFailures: 1 } });
    await harness.open('a');
    harness.shake('b', 'wrong');
    await settled();

    const next = transportPair();
    harness.rig.streams.attach(next[1]);
    await harness.rig.accepted[0]!.link.closed;

    expect(harness.rig.streams.activeStreams).toBe(0);
    await harness.rig.openHarness({}, next[0]);
  });

  it('ends a stream whose application is too slow, and no other', async () => {
    const busy = deferred();
    const links: string[] = [];
    const harness = new BareHarness({
      accept: (link, { streamId }) => {
        links.push(streamId);
        link.open((message) => (streamId === 'slow' ? busy.promise : link.send(message)));
      },
    });
    const slow = await harness.open('slow');
    const fast = await harness.open('fast');

    for (let at = 0; at < 129; at++) {
      const payload = Buffer.concat(slow.sealer.seal([Buffer.from([0, 0, 0, 1, 0x31])]));
      harness.send('slow', data(at, payload));
    }
    expect(await harness.answers('slow')).toEqual([]);
    harness.send('slow', data(129, Buffer.concat(slow.sealer.seal([Buffer.from([0, 0, 0, 1, 0x31])]))));

    expect(await harness.answers('slow')).toEqual([RESET]);
    expect(await harness.echo('fast', fast, 'fast')).toBe('fast');
  });

  it.each([
    ['a message of no bytes', Buffer.alloc(4)],
    ['a message of more than 64 MiB, before its content comes', Buffer.from('04000001', 'hex')],
    ['a record of more than 61440 bytes', Buffer.concat([Buffer.from('0000f001', 'hex'), Buffer.alloc(0xf001)])],
  ])('ends a stream over %s', async (_, plaintext) => {
    const harness = new BareHarness();
    const { sealer } = await harness.open('a');

    harness.send('a', data(0, Buffer.concat(sealer.seal([plaintext]))));

    expect(await harness.answers('a')).toEqual([RESET]);
  });

  it('accepts several messages in one record, and a message in records of any size', async () => {
    const harness = new BareHarness();
    const { sealer } = await harness.open('a');
    const plaintext = Buffer.from('\0\0\0\x01a\0\0\0\x02bc\0\0\0\x03def');

    const records = [plaintext.subarray(0, 12), plaintext.subarray(12, 14), plaintext.subarray(14)];
    for (const [at, record] of records.entries()) harness.send('a', data(at, Buffer.concat(sealer.seal([record]))));

    expect(await harness.answers('a')).toHaveLength(3);
  });

  it('ends every stream when it stops', async () => {
    const harness = new BareHarness();
    await harness.open('a');

    await harness.rig.streams[Symbol.asyncDispose]();

    expect(await harness.answers('a')).toEqual([RESET]);
  });

  it('refuses a harness with the id of another registration', async () => {
    const rig = new RelayRig();

    await expect(rig.openHarness({ ...harnessOptions, registrationId: 'old', clock: rig.clock })).rejects.toThrow(
      'the environment refused the stream',
    );
  });
});
