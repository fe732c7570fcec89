import { randomUUID } from 'node:crypto';
import { type Clock, type Logger, silentLogger, systemClock } from '../../base/index.ts';
import { type DecodeOptions, decodeFrame, encodeFrame, type RelayBody, type RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import type { RelayStream } from './relay-stream.ts';

/** Opens another connection to the same environment, for the same stream. Tried again while it fails. */
export type Reattach = (signal: AbortSignal) => Promise<FrameTransport>;

export interface HarnessConnectionOptions {
  readonly decode?: DecodeOptions;
  readonly reattach?: Reattach | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Logger | undefined;
  /** Takes a frame of the stream. */
  receive(frame: RelayFrame): void | Promise<void>;
  /** Called for a frame that is invalid, or that `receive` refused by throwing. */
  onFailure(error: Error): void;
}

const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 2000;

/** The connection of a harness, which carries one stream, and the connections that replace it when it is lost. */
export class HarnessConnection {
  readonly streamId = randomUUID();
  readonly clock: Clock;
  readonly #options: HarnessConnectionOptions;
  readonly #log: Logger;
  readonly #over = new AbortController();
  /** Undefined between the loss of one connection and the next. */
  #transport: FrameTransport | undefined;
  #stream: RelayStream | undefined;

  constructor(transport: FrameTransport, options: HarnessConnectionOptions) {
    this.#transport = transport;
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLogger).with({ streamId: this.streamId });
  }

  /** The options of a stream on this connection. */
  get streamOptions() {
    return {
      streamId: this.streamId,
      transport: this.#transport!,
      ownsTransport: true,
      clock: this.clock,
      onSuspended: () => void this.#reattach(),
      onEnd: (reason: string) => this.#ended(reason),
    };
  }

  /** Starts to take frames. */
  open(): void {
    this.#listen(this.#transport!);
  }

  /** Names the stream that is suspended when the connection is lost. */
  carry(stream: RelayStream): RelayStream {
    this.#stream = stream;
    return stream;
  }

  send(body: RelayBody): void {
    void this.#transport?.send(encodeFrame({ streamId: this.streamId, body }));
  }

  #listen(transport: FrameTransport): void {
    this.#transport = transport;
    transport.open((bytes) => (this.#transport === transport ? this.#receive(bytes) : undefined));
    void transport.closed.then(() => {
      if (this.#transport === transport) this.#stream?.suspend('the connection was lost');
    });
  }

  #receive(bytes: Uint8Array): void | Promise<void> {
    try {
      const frame = decodeFrame(bytes, this.#options.decode);
      if (frame.streamId === this.streamId) return this.#options.receive(frame);
    } catch (error) {
      this.#options.onFailure(error as Error);
    }
  }

  async #reattach(): Promise<void> {
    const { signal } = this.#over;
    this.#transport = undefined;
    this.#log.info('relay.stream_suspended');
    for (let delayMs = FIRST_RETRY_MS; !signal.aborted; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
      try {
        const transport = await this.#options.reattach!(signal);
        if (signal.aborted) return transport.close();
        this.#listen(transport);
        this.#stream?.attach(transport);
        this.#log.info('relay.stream_reattached');
        return;
      } catch (error) {
        this.#log.debug('relay.reattach_failed', { reason: (error as Error).message });
        await this.clock.sleep(delayMs, signal);
      }
    }
  }

  #ended(reason: string): void {
    this.#log.debug('relay.stream_ended', { reason });
    this.#over.abort();
    this.#transport?.close();
  }
}
