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
import type { ProcessEvent } from './process-event.ts';
import type { RemoteProcess } from './remote-process.ts';

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

/** Dispatches notifications and requests of the server: events of a process to the process, others to the listeners. */
export class ClientService implements Incoming {
  readonly #processes: ReadonlyMap<string, RemoteProcess>;
  readonly #options: ClientServiceOptions;

  constructor(processes: ReadonlyMap<string, RemoteProcess>, options: ClientServiceOptions) {
    this.#processes = processes;
    this.#options = options;
  }

  request(method: string, params: unknown, signal: AbortSignal): unknown {
    const { onRequest } = this.#options;
    if (!onRequest) throw new ExecError('methodNotFound', `this client does not answer ${method}`);
    return onRequest(method, params, signal);
  }

  notification(method: string, params: unknown): void | Promise<void> {
    if (!isNotificationName(method)) return;
    const { processId } = Object(params) as { processId?: string };
    const process = processId === undefined ? undefined : this.#processes.get(processId);
    const event = process && processEvent(method, params);
    if (!event) return this.#options.onNotification?.(method, decode(notifications[method], params));
    return process.receive(event);
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
