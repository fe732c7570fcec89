import type { Logger } from '../base/index.ts';
import { webSocket } from '../link/index.ts';
import type { Link } from '../rpc/index.ts';

/** Gives every link a connection of its own to a server elsewhere. */
export function forwardTo(destination: string, log: Logger): (link: Link) => void {
  const { protocol, hostname } = URL.canParse(destination) ? new URL(destination) : { protocol: '', hostname: '' };
  if ((protocol !== 'ws:' && protocol !== 'wss:') || hostname === '') {
    throw new Error('forward destination must be a ws:// or wss:// URL');
  }
  const connect = webSocket(destination);
  return (link) => {
    const gone = new AbortController();
    void link.closed.then(() => gone.abort());
    connect(gone.signal).then(
      (server) => join(link, server),
      (error: Error) => {
        log.warn('forward.destination_unreachable', { error: error.message });
        link.close();
      },
    );
  };
}

/** Passes messages both ways, as they are; a slow side slows the other down, and the end of one is the end of both. */
function join(harness: Link, server: Link): void {
  harness.open((message) => server.send(message));
  server.open((message) => harness.send(message));
  void harness.closed.then(() => hangUp(server));
  void server.closed.then(() => hangUp(harness));
}

function hangUp(link: Link): void {
  link.close();
  const patience = setTimeout(() => link.destroy(), GOODBYE_MS);
  void link.closed.then(() => clearTimeout(patience));
}

const GOODBYE_MS = 1000;
