import { type Clock, type Logger, systemClock } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import type { RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { EnvironmentConnection } from './environment-connection.ts';
import { limits } from './limits.ts';
import { PlainRecords } from './plain-records.ts';

export interface PlainEnvironmentOptions {
  accept(link: Link, facts: { readonly streamId: string; readonly reliable: boolean }): void;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** The streams of an environment on the plain relay, which admits every harness that the rendezvous admits. */
export class PlainEnvironmentStreams implements AsyncDisposable {
  readonly #accept: PlainEnvironmentOptions['accept'];
  readonly #connection: EnvironmentConnection;

  constructor({ accept, log, clock = systemClock }: PlainEnvironmentOptions) {
    this.#accept = accept;
    this.#connection = new EnvironmentConnection({
      decode: { segments: true },
      clock,
      log,
      receive: (frame) => this.#receive(frame),
    });
  }

  get activeStreams(): number {
    return this.#connection.size;
  }

  /** Serves a new connection, in place of the one before. Streams that acknowledge deliveries go on there. */
  attach(transport: FrameTransport): void {
    this.#connection.detach('replaced by a new connection');
    this.#connection.attach(transport, () => this.#connection.detach('the connection was lost'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.failAll('the environment stops');
    this.#connection.detach('the environment stops');
  }

  #receive(frame: RelayFrame): void {
    const { streamId } = frame;
    const stream = this.#connection.stream(streamId);
    if (stream && !stream.isAcknowledged && acknowledges(frame))
      stream.fail('unknown stream'); // agreed on before us
    else if (stream) void stream.receive(frame);
    else this.#unknown(streamId, frame, firstFrame(frame));
  }

  #unknown(streamId: string, frame: RelayFrame, meaning: FirstFrame): void {
    if (meaning === 'nothing') return;
    if (meaning === 'forgotten') this.#connection.reset(streamId, 'unknown stream');
    else if (this.#connection.size >= limits.activeStreams) this.#connection.reset(streamId, 'too many streams');
    else this.#begin(streamId, frame, meaning === 'offers');
  }

  #begin(streamId: string, frame: RelayFrame, reliable: boolean): void {
    if (reliable) void this.#connection.send(streamId, { type: 'heartbeat' });
    const stream = this.#connection.open(streamId, new PlainRecords(), reliable);
    if (!stream) return;
    this.#accept(stream, { streamId, reliable });
    void stream.receive(frame);
  }
}

export type FirstFrame = 'begins' | 'offers' | 'forgotten' | 'nothing';

/**
 * The meaning of a frame whose stream is not open:
 *
 *   data                                ──▶ begins a stream without acknowledgements
 *   heartbeat                           ──▶ begins one with them: the harness has offered it
 *   resume from the middle, or any acknowledgement ──▶ belongs to a stream that is forgotten here
 *   everything else                     ──▶ nothing
 */
export function firstFrame(frame: RelayFrame): FirstFrame {
  const { body } = frame;
  if (body.type === 'reset') return 'nothing';
  if (acknowledges(frame) || (body.type === 'resume' && body.nextSeq > 0)) return 'forgotten';
  if (body.type === 'data') return 'begins';
  return body.type === 'heartbeat' ? 'offers' : 'nothing';
}

/** Data and heartbeats cannot tell an acknowledgement of the first record, which is number 0, from none. */
const acknowledges = ({ ack = 0, body }: RelayFrame): boolean => ack > 0 || body.type === 'ack';
