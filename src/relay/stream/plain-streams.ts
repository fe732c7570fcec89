import { randomUUID } from 'node:crypto';
import type { Logger } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import { decodeFrame, encodeFrame, type RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { limits } from './limits.ts';
import { PlainStream } from './plain-stream.ts';

/** Opens the one stream of a harness's connection in the older way: unencrypted, and nobody proves who they are. */
export function openPlainHarnessStream(transport: FrameTransport): Link {
  const streamId = randomUUID();
  const stream = new PlainStream({ streamId, transport, ownsTransport: true, onEnd: () => transport.close() });
  transport.open((bytes) => {
    try {
      const frame = decodeFrame(bytes, { segments: true });
      if (frame.streamId === streamId) return stream.receive(frame);
    } catch (error) {
      stream.fail((error as Error).message);
    }
  });
  void transport.closed.then(() => stream.end('the connection was lost'));
  void transport.send(encodeFrame({ streamId, body: { type: 'resume', nextSeq: 0 } }));
  return stream;
}

export interface PlainEnvironmentOptions {
  accept(link: Link, facts: { readonly streamId: string }): void;
  readonly log: Logger;
}

/** The streams on the connection of an environment that lets in whoever the rendezvous lets in. */
export class PlainEnvironmentStreams implements AsyncDisposable {
  readonly #options: PlainEnvironmentOptions;
  readonly #streams = new Map<string, PlainStream>();
  #transport: FrameTransport | undefined;

  constructor(options: PlainEnvironmentOptions) {
    this.#options = options;
  }

  /** Serves a new connection, in place of the one before. */
  attach(transport: FrameTransport): void {
    this.detach('replaced by a new connection');
    this.#transport = transport;
    transport.open((bytes) => {
      if (this.#transport === transport) this.#receive(bytes, transport);
    });
    void transport.closed.then(() => {
      if (this.#transport === transport) this.detach('the connection was lost');
    });
  }

  /** Lets go of the connection, and of all its streams. */
  detach(reason: string): void {
    this.#transport = undefined;
    for (const stream of [...this.#streams.values()]) stream.end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of [...this.#streams.values()]) stream.fail('the environment stops');
    this.detach('the environment stops');
  }

  #receive(bytes: Uint8Array, transport: FrameTransport): void {
    let frame: RelayFrame;
    try {
      frame = decodeFrame(bytes, { segments: true });
    } catch (error) {
      this.#options.log.debug('relay.frame_dropped', { reason: (error as Error).message });
      return;
    }
    const isCall = frame.body.type === 'data';
    const stream = this.#streams.get(frame.streamId) ?? (isCall ? this.#open(frame.streamId, transport) : undefined);
    void stream?.receive(frame);
  }

  /** The first data of a stream opens it. */
  #open(streamId: string, transport: FrameTransport): PlainStream | undefined {
    if (this.#streams.size >= limits.activeStreams) {
      void transport.send(encodeFrame({ streamId, body: { type: 'reset', reason: 'too many streams' } }));
      return undefined;
    }
    const log = this.#options.log.with({ streamId: streamId.slice(0, 64) });
    const stream: PlainStream = new PlainStream({
      streamId,
      transport,
      ownsTransport: false,
      onEnd: (reason) => {
        log.info('relay.stream_ended', { reason });
        if (this.#streams.get(streamId) === stream) this.#streams.delete(streamId);
      },
    });
    this.#streams.set(streamId, stream);
    log.info('relay.stream_opened', { reliable: false });
    this.#options.accept(stream, { streamId });
    return stream;
  }
}
