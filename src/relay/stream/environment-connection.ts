import type { Clock, Logger } from '../../base/index.ts';
import { type DecodeOptions, decodeFrame, encodeFrame, type RelayBody, type RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { limits } from './limits.ts';
import type { Records } from './records.ts';
import { RelayStream } from './relay-stream.ts';

export interface EnvironmentConnectionOptions {
  readonly decode?: DecodeOptions;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes every frame that is valid. */
  receive(frame: RelayFrame): void;
}

/** The connection of an environment, the connections that replace it, and the streams of all harnesses on them. */
export class EnvironmentConnection {
  readonly #options: EnvironmentConnectionOptions;
  readonly #streams = new Map<string, RelayStream>();
  #transport: FrameTransport | undefined;
  /** Resets sent on a connection that has no room. */
  #lateResets = 0;

  constructor(options: EnvironmentConnectionOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#streams.size;
  }

  stream(streamId: string): RelayStream | undefined {
    return this.#streams.get(streamId);
  }

  /** Serves a new connection, after `detach` from the one before; `onLost` is called when it ends. */
  attach(transport: FrameTransport, onLost: () => void): void {
    this.#transport = transport;
    this.#lateResets = 0;
    transport.open((bytes) => {
      if (this.#transport === transport) this.receive(bytes);
    });
    void transport.closed.then(() => {
      if (this.#transport === transport) onLost();
    });
    for (const stream of this.#streams.values()) stream.attach(transport);
  }

  /** Drops the connection: streams with acknowledged delivery wait for the next one, the others end. */
  detach(reason: string): void {
    this.#transport = undefined;
    for (const stream of [...this.#streams.values()]) stream.suspend(reason);
  }

  /** Ends all streams and tells the harnesses. */
  failAll(reason: string): void {
    for (const stream of [...this.#streams.values()]) stream.fail(reason);
  }

  /** Takes a frame from the connection; an invalid one is dropped. */
  receive(bytes: Uint8Array): void {
    let frame: RelayFrame;
    try {
      frame = decodeFrame(bytes, this.#options.decode);
    } catch (error) {
      this.#options.log.debug('relay.frame_dropped', { reason: (error as Error).message });
      return;
    }
    this.#options.receive(frame);
  }

  /** Opens a stream on the connection; undefined without a connection. */
  open(streamId: string, records: Records, isAcknowledged: boolean): RelayStream | undefined {
    const transport = this.#transport;
    if (!transport) return undefined;
    const log = this.#options.log.with({ streamId: streamId.slice(0, limits.shownStreamId) });
    const stream: RelayStream = new RelayStream({
      streamId,
      records,
      transport,
      delivery: isAcknowledged ? 'acknowledged' : 'unacknowledged',
      ownsTransport: false,
      clock: this.#options.clock,
      onEnd: (reason) => {
        log.info('relay.stream_ended', { reason });
        if (this.#streams.get(streamId) === stream) this.#streams.delete(streamId);
      },
    });
    this.#streams.set(streamId, stream);
    log.info('relay.stream_opened', { reliable: isAcknowledged });
    return stream;
  }

  /** Sends a reset. Their number is bounded: a rendezvous that causes resets and reads none must not fill the memory. */
  reset(streamId: string, reason: string): void {
    const transport = this.#transport;
    if (this.#lateResets >= limits.lateResets) return;
    const room = this.send(streamId, { type: 'reset', reason });
    if (!room) return;
    this.#lateResets++;
    void room.then(() => {
      if (this.#transport === transport) this.#lateResets = 0;
    });
  }

  send(streamId: string, body: RelayBody): void | Promise<void> {
    return this.#transport?.send(encodeFrame({ streamId, body }));
  }
}
