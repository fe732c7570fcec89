import type { Logger } from '../base/index.ts';
import {
  decode,
  ExecError,
  isNotificationName,
  type Notification,
  type NotificationName,
  notifications,
} from '../protocol/index.ts';
import type { Incoming } from './connection.ts';
import type { ChangeListener } from './files/file-watch.ts';
import type { ProcessEvent } from './process-event.ts';
import type { RemoteProcess } from './remote-process.ts';
import type { PortStream } from './streams/port-stream.ts';
import { streamEvent } from './streams/stream-event.ts';

/** While a returned promise is pending nothing more is read from the connection. */
export type NotificationListener = (
  name: NotificationName,
  params: Notification<NotificationName>,
) => void | Promise<void>;

/** Gives the wire form of the result; an `ExecError` becomes the error answer. */
export type RequestListener = (method: string, params: unknown, signal: AbortSignal) => unknown;

export interface ClientServiceOptions {
  readonly onNotification?: NotificationListener;
  readonly onRequest?: RequestListener;
  readonly logger: Logger;
}

/** The processes, streams and watches of a client that are not over, by their ids. */
export interface LivingObjects {
  readonly processes: ReadonlyMap<string, RemoteProcess>;
  readonly streams: ReadonlyMap<string, PortStream>;
  readonly watches: ReadonlyMap<string, ChangeListener>;
}

/** Dispatches notifications and requests of the server: events of a process, a stream or a watch to that, others to the listeners. */
export class ClientService implements Incoming {
  readonly #living: LivingObjects;
  readonly #options: ClientServiceOptions;

  constructor(living: LivingObjects, options: ClientServiceOptions) {
    this.#living = living;
    this.#options = options;
  }

  request(method: string, params: unknown, signal: AbortSignal): unknown {
    const { onRequest } = this.#options;
    if (!onRequest) throw new ExecError('methodNotFound', `this client does not answer ${method}`);
    return onRequest(method, params, signal);
  }

  notification(method: string, params: unknown): void | Promise<void> {
    if (!isNotificationName(method)) return;
    const { processId, streamId, watchId } = Object(params) as Partial<Record<string, string>>;
    const watch = method === 'fs/changed' ? this.#living.watches.get(watchId ?? '') : undefined;
    if (watch) return watch.receive(decode(notifications['fs/changed'], params));
    const process = processId === undefined ? undefined : this.#living.processes.get(processId);
    const event = process && processEvent(method, params);
    if (event) return process.receive(event);
    const stream = streamId === undefined ? undefined : this.#living.streams.get(streamId);
    const data = stream && streamEvent(method, params);
    if (data) return stream.receive(data);
    return this.#options.onNotification?.(method, decode(notifications[method], params));
  }

  violated(error: Error): void {
    this.#options.logger.warn('connection.violated', { error });
  }
}

function processEvent(method: NotificationName, sent: unknown): ProcessEvent | undefined {
  const params = { seq: UNNUMBERED, ...(sent as object) };
  if (method === 'process/output') {
    const { seq, stream, chunk } = decode(notifications[method], params);
    return { type: 'output', seq, stream, bytes: chunk };
  }
  if (method === 'process/exited') {
    const { processId: _, ...exit } = decode(notifications[method], params);
    return { type: 'exited', sandboxDenied: undefined, ...exit };
  }
  if (method === 'process/closed') return { type: 'closed', seq: decode(notifications[method], params).seq };
  return undefined;
}

/** The number of an event without one: the first servers did not number events. */
const UNNUMBERED = 0;
