import { randomUUID } from 'node:crypto';
import { type Logger, onAbort } from '../../base/index.ts';
import type { Outgoing } from '../../host/http/index.ts';
import type { FrameTransport } from '../index.ts';
import type { ActiveRegistration } from './connection-keeper.ts';
import { openRendezvousSocket } from './rendezvous-socket.ts';

/** Streams that are served over one websocket after the other. */
export interface Streams extends AsyncDisposable {
  attach(transport: FrameTransport): void;
}

export interface StreamRegistrationOptions {
  readonly url: string;
  readonly streams: Streams;
  readonly isReusable: boolean;
  /** Whether the streams end with the registration. */
  readonly ownsStreams: boolean;
  readonly maxPayload?: number;
  readonly outgoing: Outgoing;
  readonly log: Logger;
}

/** A registration whose harnesses come as streams over the websocket of a rendezvous. */
export class StreamRegistration implements ActiveRegistration {
  readonly #options: StreamRegistrationOptions;

  constructor(options: StreamRegistrationOptions) {
    this.#options = options;
  }

  get isReusable(): boolean {
    return this.#options.isReusable;
  }

  async connect(signal: AbortSignal): Promise<void> {
    const { url, streams, maxPayload, outgoing, log } = this.#options;
    const headers = { 'x-request-id': `req_${randomUUID().replaceAll('-', '')}` };
    const options = { headers, onText: 'ignore' as const, outgoing, ...(maxPayload !== undefined && { maxPayload }) };
    const socket = await openRendezvousSocket(url, options, signal);
    using _closing = onAbort(signal, () => socket.close());
    log.info('rendezvous.connected');
    streams.attach(socket);
    await socket.closed;
    log.info('rendezvous.disconnected', { code: socket.closeCode });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { streams, ownsStreams } = this.#options;
    if (ownsStreams) await streams[Symbol.asyncDispose]();
  }
}
