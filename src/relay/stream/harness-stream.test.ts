import { describe, expect, it } from 'vitest';
import { FakeClock, settled } from '../../../test/relay/fake-clock.ts';
import { transportPair } from '../../../test/relay/memory-transport.ts';
import { executorKeys, harnessKeys, harnessOptions, RelayRig, until } from '../../../test/relay/relay-rig.ts';
import { deferred } from '../../base/index.ts';
import {
  decodeFrame,
  encodeFrame,
  openHarnessStream,
  type RecordCiphers,
  type RelayBody,
  type RelayFrame,
  ResponderHandshake,
} from '../index.ts';

/** An executor whose frames the test sends one by one, and a harness that calls it. */
function bareExecutor(options: Partial<typeof harnessOptions> = {}) {
  const clock = new FakeClock();
  const [transport, own] = transportPair();
  const frames: RelayFrame[] = [];
  own.open((bytes) => void frames.push(decodeFrame(bytes)));
  const opening = openHarnessStream(transport, { ...harnessOptions, clock, ...options });
  opening.catch(() => {}); // most tests look at it later
  const streamId = (): string => frames[0]!.streamId;
  const send = (body: RelayBody, id = streamId()): void => void own.send(encodeFrame({ streamId: id, body }));
  const answer = (): RecordCiphers => {
    const context = { environmentId: 'env-1', registrationId: 'registration-1', streamId: streamId() };
    const responder = new ResponderHandshake(executorKeys, context);
    const shake = frames.find(({ body }) => body.type === 'handshake')!.body as { payload: Uint8Array };
    responder.readMessage1(shake.payload);
    const { message, ciphers } = responder.writeMessage2();
    send({ type: 'handshake', payload: message });
    return ciphers;
  };
  const sendMessage = ({ sealer }: RecordCiphers, text: string): void => {
    const { seq } = sealer;
    const message = Buffer.from(text);
    const payload = Buffer.concat(sealer.seal([Buffer.from([0, 0, 0, message.length]), message]));
    send({ type: 'data', seq, segmentIndex: 0, segmentCount: 1, payload });
  };
  return { clock, transport, own, frames, opening, send, answer, sendMessage };
}

const data: RelayBody = {
  type: 'data',
  seq: 0,
  segmentIndex: 0,
  segmentCount: 1,
  payload: Buffer.from('a record, or not'),
};

describe('a harness', () => {
  it('claims its stream, then shakes hands', async () => {
    const { frames } = bareExecutor();

    await until(() => frames.length === 2);

    expect(frames[0]!.streamId).toMatch(/^[0-9a-f-]{36}$/);
    expect(frames.map(({ body }) => (body.type === 'handshake' ? body.payload.length : body))).toEqual([
      { type: 'resume', nextSeq: 0 },
      3568 + 'let me in'.length,
    ]);
  });

  it('offers acknowledged delivery when it can reconnect', async () => {
    const { frames } = bareExecutor({ reattach: () => Promise.reject(new Error('never')) });

    await until(() => frames.length === 3);

    expect(frames.map(({ body }) => body.type)).toEqual(['resume', 'heartbeat', 'handshake']);
  });

  it('talks to an executor that proves to be the right one', async () => {
    const rig = new RelayRig();
    const { link, received } = await rig.openHarness();

    void link.send('hello');
    void link.send(Buffer.from('bytes'));
    await until(() => received.length === 2);

    expect(received).toEqual(['hello', 'bytes']);
  });

  it('carries a message of many records both ways', async () => {
    const rig = new RelayRig();
    const { link, transport, received } = await rig.openHarness();
    const long = 'abcdefghij'.repeat(500_000);

    void link.send(long);
    await until(() => received.length === 1);

    expect(received[0] === long).toBe(true);
    const sizes = transport.sent
      .map((frame) => decodeFrame(frame).body)
      .map((body) => (body.type === 'data' ? body.payload.length : 0));
    expect([Math.max(...sizes), sizes.filter((size) => size > 0).length]).toEqual([61_456, 82]);
  });

  it.each([
    ['refuses', { type: 'reset', reason: 'no' }, 'the environment refused the stream'],
    ['sends data first', data, 'data before the handshake is complete'],
    ['answers with nonsense', { type: 'handshake', payload: Buffer.alloc(3424) }, /not authentic|unusable/],
    ['answers too little', { type: 'handshake', payload: Buffer.alloc(10) }, 'cut short'],
  ] as [string, RelayBody, string | RegExp][])(
    'gives up when the executor %s, and closes the connection',
    async (_, body, reason) => {
      const { opening, frames, send, transport } = bareExecutor();
      await until(() => frames.length === 2);

      send(body);

      await expect(opening).rejects.toThrow(reason);
      expect(transport.isOver).toBe(true);
    },
  );

  it('gives up over an invalid frame', async () => {
    const { opening, own } = bareExecutor();

    void own.send(Buffer.from('garbage'));

    await expect(opening).rejects.toThrow('field');
  });

  it('gives up after ten seconds without an answer', async () => {
    const { opening, clock } = bareExecutor();
    let isOver = false;
    opening.catch(() => {
      isOver = true;
    });

    await clock.advance(9999);
    expect(isOver).toBe(false);
    await clock.advance(1);

    await expect(opening).rejects.toThrow('the environment does not answer');
  });

  it('gives up when its signal aborts, or when the connection ends', async () => {
    const stop = new AbortController();
    const [stopped, lost] = [bareExecutor({ signal: stop.signal }), bareExecutor()];

    stop.abort(new Error('enough'));
    lost.transport.close();

    await expect(stopped.opening).rejects.toThrow('enough');
    await expect(lost.opening).rejects.toThrow('the connection ended during the handshake');
    expect(stopped.transport.isOver).toBe(true);
  });

  it('refuses to send an authorization that is empty or too long', async () => {
    await expect(bareExecutor({ authorization: '' }).opening).rejects.toThrow('authorization is empty');
    await expect(bareExecutor({ authorization: 'x'.repeat(4097) }).opening).rejects.toThrow(
      'authorization is too long',
    );
  });

  it('ignores frames of other streams and frames that mean nothing to it, during the handshake and afterwards', async () => {
    const { opening, frames, send, answer, sendMessage } = bareExecutor();
    await until(() => frames.length === 2);
    const noise = (): void => {
      send({ type: 'reset', reason: 'not yours' }, 'other');
      send(data, 'other');
      for (const body of [{ type: 'ack' }, { type: 'resume', nextSeq: 3 }, { type: 'heartbeat' }] as const) send(body);
    };

    noise();
    const ciphers = answer();
    noise();
    const link = await opening;
    const received: string[] = [];
    link.open((message) => void received.push(Buffer.from(message).toString()));
    sendMessage(ciphers, 'hello');
    await until(() => received.length > 0);

    expect(received).toEqual(['hello']);
  });

  it.each([
    ['a reset', { type: 'reset', reason: 'any' }],
    ['a second handshake', { type: 'handshake', payload: Buffer.from('again') }],
    ['a forged record', data],
  ] as [string, RelayBody][])('ends the connection over %s', async (_, body) => {
    const { opening, frames, send, answer, transport } = bareExecutor();
    await until(() => frames.length === 2);
    answer();
    const link = await opening;

    send(body);
    await link.closed;

    expect(transport.isOver).toBe(true);
  });

  it('ends the connection over an invalid frame', async () => {
    const { opening, frames, own, answer } = bareExecutor();
    await until(() => frames.length === 2);
    answer();
    const link = await opening;

    void own.send(encodeFrame({ streamId: 'other', body: { ...data, segmentCount: 2 } as RelayBody }));

    await link.closed;
  });

  it('does not read on while its application is busy', async () => {
    const { opening, frames, transport, answer, sendMessage } = bareExecutor();
    await until(() => frames.length === 2);
    const ciphers = answer();
    const link = await opening;
    const busy = deferred();
    let received = 0;
    link.open(() => {
      received++;
      return busy.promise;
    });

    for (let at = 0; at < 300; at++) sendMessage(ciphers, `message ${at}`);
    await settled();
    expect([received, transport.waiting]).toEqual([1, 300 - 129]);
    busy.resolve();
    await until(() => received === 300);

    expect(transport.waiting).toBe(0);
  });

  it('makes senders wait while the connection has no room, and then sends everything in order', async () => {
    const rig = new RelayRig();
    const { link, transport, received } = await rig.openHarness();
    const makeRoom = transport.fill();
    const messages = ['a', 'b'.repeat(2_000_000), 'c'];

    const sending = messages.map((message) => link.send(message));
    await settled();
    expect([sending.map((promise) => promise !== undefined), received]).toEqual([[false, true, true], ['a']]);
    makeRoom();
    await Promise.all(sending);
    await until(() => received.length === 3);

    expect(received.map(({ length }) => length)).toEqual([1, 2_000_000, 1]);
  });

  it('refuses to send a message larger than a relay carries, and an empty one', async () => {
    const rig = new RelayRig();
    const { link, received } = await rig.openHarness();

    expect(() => link.send(Buffer.alloc(64 * 1024 * 1024 + 1))).toThrow('message of 67108865 bytes is larger');
    expect(() => link.send('')).toThrow('message is empty');
    void link.send('fine');
    await until(() => received.length === 1);
  });

  it('knows of a delivery as soon as the connection does', async () => {
    const { opening, frames, answer } = bareExecutor();
    await until(() => frames.length === 2);
    answer();
    const link = await opening;
    const delivered: string[] = [];

    void link.send('a', () => void delivered.push('a'));
    void link.send('b'.repeat(200_000), () => void delivered.push('b'));
    expect(delivered).toEqual([]);
    link.probe();

    expect(delivered).toEqual(['a', 'b']);
  });

  it('sends its last messages before it closes', async () => {
    const rig = new RelayRig();
    const { link, transport } = await rig.openHarness();
    const heard: string[] = [];
    rig.accepted[0]!.link.open((message) => void heard.push(Buffer.from(message).toString()));

    void link.send('last words');
    link.close();
    void link.send('too late');
    await Promise.all([link.closed, rig.accepted[0]!.link.closed]);

    expect([heard, transport.isOver, rig.streams.activeStreams]).toEqual([['last words'], true, 0]);
  });

  it('closes after a second even if the connection never has room', async () => {
    const rig = new RelayRig();
    const { link, transport } = await rig.openHarness();
    transport.fill();

    void link.send('x'.repeat(2_000_000));
    link.close();
    await rig.clock.advance(1000);

    await link.closed;
  });

  it('works under the same keys any number of times, always as another stream', async () => {
    const rig = new RelayRig();
    const harnesses = await Promise.all([
      rig.openHarness({ keys: harnessKeys }),
      rig.openHarness({ keys: harnessKeys }),
    ]);

    for (const { link } of harnesses) void link.send('hello');
    await until(() => harnesses.every(({ received }) => received.length === 1));

    expect(new Set(rig.accepted.map(({ facts }) => facts.streamId)).size).toBe(2);
  });
});
