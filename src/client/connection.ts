import { abortable, Deadline } from '../base/index.ts';
import {
  decode,
  type EnvironmentInfo,
  ExecError,
  encode,
  environmentInfo as environmentInfoSchema,
  methods,
} from '../protocol/index.ts';
import { ConnectionLost, type Link, Peer } from '../rpc/index.ts';
import { acceptsOnlyNativePaths } from './native-spelling.ts';

/** Opens a link to a server: to the same server as before if `resuming`. */
export interface Connector {
  (signal: AbortSignal, resuming?: boolean): Promise<Link>;
  /** False if a second link would reach another server, where no session can be resumed. */
  readonly resumable?: boolean;
}

/** One connection whose handshake is complete. */
export interface ClientConnection {
  readonly peer: Peer;
  readonly sessionId: string | undefined;
  readonly environmentInfo: EnvironmentInfo | undefined;
  /** Whether paths have to be sent as native ones. */
  readonly nativePaths: boolean;
}

/** Takes the requests and notifications of the server. */
export interface Incoming {
  request(method: string, params: unknown, signal: AbortSignal): unknown;
  notification(method: string, params: unknown): void | Promise<void>;
  violated(error: Error): void;
}

export interface InitializeOptions {
  readonly clientName: string;
  readonly resumeSessionId: string | undefined;
  readonly events: readonly string[] | undefined;
  readonly sandboxDenials: boolean;
  readonly timeoutMs: number;
}

/** Connects and completes the handshake. */
export async function openConnection(
  connector: Connector,
  options: InitializeOptions,
  incoming: Incoming,
  signal: AbortSignal,
): Promise<ClientConnection> {
  signal.throwIfAborted();
  const link = await connector(signal, options.resumeSessionId !== undefined);
  try {
    const peer = peerOver(link, incoming);
    const { clientName, resumeSessionId, events, sandboxDenials, timeoutMs } = options;
    const params = {
      clientName,
      resumeSessionId: resumeSessionId ?? null,
      ...(events && { events: [...events] }),
      capabilities: { errorDetails: true, processTimeout: true, ...(sandboxDenials && { sandboxDenials }) },
    };
    const answer = await within(peer.call('initialize', encode(methods.initialize.params, params)), timeoutMs, signal);
    const { sessionId } = decode(methods.initialize.result, answer);
    if (resumeSessionId !== undefined && sessionId !== resumeSessionId) {
      throw new ExecError('invalidRequest', `asked for session ${resumeSessionId}, but got ${sessionId}`);
    }
    void peer.notify('initialized', {});
    const { environmentInfo: told } = answer as { environmentInfo?: unknown };
    const wireInfo = told ?? (await requestInfo(peer));
    const environmentInfo = wireInfo === undefined ? undefined : decode(environmentInfoSchema, wireInfo);
    return { peer, sessionId, environmentInfo, nativePaths: acceptsOnlyNativePaths(wireInfo, environmentInfo) };
  } catch (error) {
    link.destroy();
    throw error;
  }
}

function peerOver(link: Link, incoming: Incoming): Peer {
  return new Peer(link, {
    lane: () => 'ordinary',
    request: (method, params, { ended }) => incoming.request(method, params, ended),
    notification: (method, params) => incoming.notification(method, params),
    // Malformed text may have been an answer, for which a caller would wait for ever: reconnect instead.
    violation: (_, error) => {
      incoming.violated(error);
      link.destroy();
    },
  });
}

/** Asks servers whose handshake does not describe the environment. The oldest ones do not know the request. */
async function requestInfo(peer: Peer): Promise<unknown> {
  try {
    return await peer.call('environment/info', null);
  } catch (error) {
    if (error instanceof ExecError) return undefined;
    throw error;
  }
}

async function within<T>(work: Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
  using deadline = new Deadline(timeoutMs, signal);
  try {
    return await abortable(work, deadline.signal);
  } catch (error) {
    throw deadline.expired ? new ConnectionLost(`initialize was not answered within ${timeoutMs} ms`) : error;
  }
}
