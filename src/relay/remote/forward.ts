import type { Logger } from '../../base/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import { webSocket } from '../../link/index.ts';
import { ExecError, limits } from '../../protocol/index.ts';
import type { Link } from '../../rpc/index.ts';

/** Forwards every link over a connection of its own to another server. */
export function forwardTo(
  destination: string,
  log: Logger,
  { token, outgoing = Outgoing.direct }: { readonly token?: string; readonly outgoing?: Outgoing } = {},
): (link: Link) => void {
  const { protocol, hostname } = URL.canParse(destination) ? new URL(destination) : { protocol: '', hostname: '' };
  if ((protocol !== 'ws:' && protocol !== 'wss:') || hostname === '') {
    throw new Error('forward destination must be a ws:// or wss:// URL');
  }
  const connect = webSocket(destination, {
    roots: () => outgoing.roots.context,
    ...(token !== undefined && { token }),
  });
  return (link) => {
    const gone = new AbortController();
    void link.closed.then(() => gone.abort());
    connect(gone.signal).then(
      (server) => join(link, server, log),
      (error: Error) => {
        log.warn('forward.destination_unreachable', { error: error.message });
        refuse(link, `the server of this environment cannot be reached: ${error.message}`);
      },
    );
  };
}

/**
 * Answers the `initialize` of a harness with the reason. A harness that resumes a session gets no answer, only the end of its
 * connection: after that it tries again, but after an error it would give the session up.
 */
function refuse(harness: Link, reason: string): void {
  const timeout = setTimeout(() => harness.close(), REFUSAL_MS);
  void harness.closed.then(() => clearTimeout(timeout));
  harness.open((message) => {
    const id = idOfInitialize(message);
    if (id === undefined) return harness.close();
    return harness.send(JSON.stringify({ id, error: new ExecError('internal', reason).toWire() }));
  });
}

/** The id of an `initialize` request for a new session. */
function idOfInitialize(message: Uint8Array): string | number | undefined {
  try {
    const { id, method, params } = JSON.parse(Buffer.from(message).toString());
    return method === 'initialize' && !params?.resumeSessionId ? id : undefined;
  } catch {
    return undefined; // not JSON, so not a request
  }
}

/** Passes messages both ways unchanged. A slow side slows the other down, and the end of one ends both. */
function join(harness: Link, server: Link, log: Logger): void {
  harness.open((message) => server.send(message));
  server.open((message) => {
    if (message.length <= limits.messageBytes) return harness.send(message);
    log.warn('forward.message_too_large', { bytes: message.length });
    const error = errorInsteadOf(message);
    if (error !== undefined) return harness.send(error);
    disconnect(harness); // a notification cannot be left out: the harness connects again and reads the missed events
  });
  void harness.closed.then(() => disconnect(server));
  void server.closed.then(() => disconnect(harness));
}

/** The error to send instead of an answer that is too large for a relay; undefined for a message that is not an answer. */
function errorInsteadOf(message: Uint8Array): string | undefined {
  const head = Buffer.from(message.buffer, message.byteOffset, Math.min(message.length, HEAD_BYTES)).toString();
  const [, id] = /^\{(?:"jsonrpc":"2\.0",)?"id":(-?\d+|"(?:[^"\\]|\\.)*"),"(?:result|error)":/.exec(head) ?? [];
  if (id === undefined) return undefined;
  const text = `the answer of ${message.length} bytes is larger than the ${limits.messageBytes} a relay carries; ask for less, such as files block by block`;
  return `{"id":${id},"error":${JSON.stringify(new ExecError('internal', text).toWire())}}`;
}

/** Enough for the id, with which servers begin an answer. */
const HEAD_BYTES = 1024;

function disconnect(link: Link): void {
  link.close();
  const timeout = setTimeout(() => link.destroy(), CLOSE_MS);
  void link.closed.then(() => clearTimeout(timeout));
}

/** How long a link may take to close in order. */
const CLOSE_MS = 1000;
/** How long a harness may take to send its first request and to read the answer. */
const REFUSAL_MS = 5000;
