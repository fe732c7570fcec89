import type { Logger } from '../../base/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import { webSocket } from '../../link/index.ts';
import { ExecError, limits } from '../../protocol/index.ts';
import type { Link } from '../../rpc/index.ts';

/** Gives every link a connection of its own to a server elsewhere, which may ask for a token. */
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
 * Answers the greeting of a harness with the reason. A harness that resumes a session gets no answer: it tries again when its
 * connection is lost, and gives the session up when it is refused.
 */
function refuse(harness: Link, reason: string): void {
  const patience = setTimeout(() => harness.close(), GREETING_MS);
  void harness.closed.then(() => clearTimeout(patience));
  harness.open((message) => {
    const id = greetingId(message);
    if (id === undefined) return harness.close();
    return harness.send(JSON.stringify({ id, error: new ExecError('internal', reason).toWire() }));
  });
}

/** The id of a request that begins a session. */
function greetingId(message: Uint8Array): string | number | undefined {
  try {
    const { id, method, params } = JSON.parse(Buffer.from(message).toString());
    return method === 'initialize' && !params?.resumeSessionId ? id : undefined;
  } catch {
    return undefined; // a message that is no JSON is no request
  }
}

/** Passes messages both ways, as they are; a slow side slows the other down, and the end of one is the end of both. */
function join(harness: Link, server: Link, log: Logger): void {
  harness.open((message) => server.send(message));
  server.open((message) => {
    if (message.length <= limits.messageBytes) return harness.send(message);
    log.warn('forward.message_too_large', { bytes: message.length });
    const refusal = refusalOf(message);
    if (refusal !== undefined) return harness.send(refusal);
    hangUp(harness); // events cannot be left out: the harness connects again and reads what it missed
  });
  void harness.closed.then(() => hangUp(server));
  void server.closed.then(() => hangUp(harness));
}

/** The answer to the harness instead of one that no relay carries; undefined for a message that is no answer. */
function refusalOf(message: Uint8Array): string | undefined {
  const head = Buffer.from(message.buffer, message.byteOffset, Math.min(message.length, HEAD_BYTES)).toString();
  const [, id] = /^\{(?:"jsonrpc":"2\.0",)?"id":(-?\d+|"(?:[^"\\]|\\.)*"),"(?:result|error)":/.exec(head) ?? [];
  if (id === undefined) return undefined;
  const text = `the answer of ${message.length} bytes is larger than the ${limits.messageBytes} a relay carries; ask for less, such as files block by block`;
  return `{"id":${id},"error":${JSON.stringify(new ExecError('internal', text).toWire())}}`;
}

/** Servers begin an answer with its id. */
const HEAD_BYTES = 1024;

function hangUp(link: Link): void {
  link.close();
  const patience = setTimeout(() => link.destroy(), GOODBYE_MS);
  void link.closed.then(() => clearTimeout(patience));
}

const GOODBYE_MS = 1000;
/** The time in which a harness sends its first request, and takes the answer. */
const GREETING_MS = 5000;
