import { describe, expect, it } from 'vitest';
import { settled } from '../../../test/relay/fake-clock.ts';
import { transportPair } from '../../../test/relay/memory-transport.ts';
import { until } from '../../../test/relay/relay-rig.ts';
import { deferred, silentLogger } from '../../base/index.ts';
import type { Link, Receiver } from '../../rpc/index.ts';
import { decodeFrame, encodeFrame, openPlainHarnessStream, PlainEnvironmentStreams, type RelayBody } from '../index.ts';

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** An environment on the plain relay, and the other end of its connection. */
function environment(
  receiverOf: (link: Link, streamId: string) => Receiver = (link) => (message) => link.send(message),
) {
  const [outer, inner] = transportPair();
  const links: Link[] = [];
  const streams = new PlainEnvironmentStreams({
    accept: (link, { streamId }) => {
      links.push(link);
      link.open(receiverOf(link, streamId));
    },
    log: silentLogger,
  });
  streams.attach(inner);
  const frames: string[] = [];
  const listen = (): void =>
    outer.open((bytes) => {
      const { streamId, body } = decodeFrame(bytes);
      const content =
        body.type === 'data' ? `${body.seq} ${textOf(body.payload)}` : body.type === 'reset' ? body.reason : '';
      frames.push(`${streamId} ${body.type} ${content}`.slice(0, 80));
    });
  const send = (streamId: string, body: RelayBody): void => void outer.send(encodeFrame({ streamId, body }));
  return { outer, inner, streams, links, frames, listen, send };
}

const data = (seq: number, text: string, segmentIndex = 0, segmentCount = 1): RelayBody => ({
  type: 'data',
  seq,
  segmentIndex,
  segmentCount,
  payload: Buffer.from(text),
});

describe('the plain relay', () => {
  it('carries messages both ways, in the clear', async () => {
    const { outer } = environment();
    const received: string[] = [];

    const link = openPlainHarnessStream(outer);
    link.open((message) => void received.push(textOf(message)));
    void link.send('hello');
    void link.send(Buffer.from('bytes'));
    await until(() => received.length === 2);

    expect(received).toEqual(['hello', 'bytes']);
    expect(outer.sent.map((frame) => decodeFrame(frame).body)).toEqual([
      { type: 'resume', nextSeq: 0 },
      { type: 'data', seq: 0, segmentIndex: 0, segmentCount: 1, payload: Buffer.from('hello') },
      { type: 'data', seq: 1, segmentIndex: 0, segmentCount: 1, payload: Buffer.from('bytes') },
    ]);
  });

  it('opens a stream with its first data and numbers the answers', async () => {
    const { listen, send, frames } = environment();
    listen();

    send('a', { type: 'resume', nextSeq: 0 });
    send('a', data(0, 'one'));
    send('b', data(0, 'two'));
    send('a', data(1, 'three'));
    await settled();

    expect(frames).toEqual(['a data 0 one', 'b data 0 two', 'a data 1 three']);
  });

  it('joins the segments of a message', async () => {
    const { listen, send, frames } = environment();
    listen();

    for (const [at, text] of ['one', 'and', 'two'].entries()) send('a', data(7 + at, text, at, 3));
    send('a', data(10, 'whole'));
    await settled();

    expect(frames).toEqual(['a data 0 oneandtwo', 'a data 1 whole']);
  });

  it.each([
    ['is missing', [data(0, 'x', 0, 3), data(2, 'z', 2, 3)]],
    ['belongs to another message', [data(0, 'x', 0, 2), data(5, 'y', 1, 2)]],
    ['comes without its beginning', [data(1, 'y', 1, 2)]],
  ])('ends a stream when a segment %s', async (_, segments) => {
    const { listen, send, frames } = environment();
    listen();

    for (const segment of segments) send('a', segment);
    await settled();

    expect(frames).toEqual(['a reset a segment is missing']);
  });

  it('refuses the 129th stream', async () => {
    const { listen, send, frames, links } = environment(() => () => {});
    listen();

    for (let at = 0; at < 129; at++) send(`stream-${at}`, data(0, 'x'));
    await settled();

    expect([links.length, frames]).toEqual([128, ['stream-128 reset too many streams']]);
  });

  it('ends a stream whose application is too slow, and no other', async () => {
    const { listen, send, frames } = environment((link, streamId) =>
      streamId === 'slow' ? () => new Promise(() => {}) : (message) => link.send(message),
    );
    listen();

    for (let at = 0; at < 129; at++) send('slow', data(at, 'x'));
    send('fast', data(0, 'y'));
    await settled();
    expect(frames).toEqual(['fast data 0 y']);
    send('slow', data(129, 'x'));
    await settled();

    expect(frames).toEqual(['fast data 0 y', 'slow reset the application is slower than the peer']);
  });

  it('does not read on while the application of the harness is busy', async () => {
    const { outer, links } = environment();
    const link = openPlainHarnessStream(outer);
    const busy = deferred();
    let received = 0;
    link.open(() => {
      received++;
      return busy.promise;
    });
    void link.send('first');
    await until(() => received === 1);

    for (let at = 0; at < 299; at++) void links[0]!.send('more');
    await settled();
    expect([received, outer.waiting]).toEqual([1, 300 - 129]);
    busy.resolve();

    await until(() => received === 300);
  });

  it('ends a stream at both ends when either closes it, or the connection is lost', async () => {
    const ends = async (act: (rig: ReturnType<typeof environment>, link: Link) => void): Promise<void> => {
      const rig = environment();
      const link = openPlainHarnessStream(rig.outer);
      link.open(() => {});
      void link.send('hello');
      await until(() => rig.links.length === 1);
      act(rig, link);
      await Promise.all([link.closed, rig.links[0]!.closed]);
      void link.send('too late');
    };

    await ends((_, link) => link.close());
    await ends(({ links }) => links[0]!.destroy());
    await ends(({ inner }) => inner.close());
    await ends(({ streams }) => void streams[Symbol.asyncDispose]());
  });

  it('ignores bytes that are not a frame in the environment, but not in the harness', async () => {
    const { outer, inner, links } = environment();
    const link = openPlainHarnessStream(outer);
    void link.send('hello');
    await until(() => links.length === 1);

    void outer.send(Buffer.from('garbage'));
    await settled();
    expect(outer.isOver).toBe(false);
    void inner.send(Buffer.from('garbage'));

    await link.closed;
    expect(outer.isOver).toBe(true);
  });

  it('reports a delivery as soon as the connection does', async () => {
    const link = openPlainHarnessStream(environment().outer);
    let isDelivered = false;

    void link.send('hello', () => {
      isDelivered = true;
    });
    expect(isDelivered).toBe(false);
    link.probe();

    expect(isDelivered).toBe(true);
  });
});
