import { type Logger, Scope } from '../base/index.ts';
import { environmentInfo } from '../environment/index.ts';
import { StdioLink } from '../link/index.ts';
import type { Link } from '../rpc/index.ts';
import { defaultConfig, type ExecServerConfig } from './config.ts';
import { Connection } from './connection.ts';
import { isLoopback, type ListenAddress } from './listen-url.ts';
import { Sessions } from './sessions.ts';
import type { WebSocketAuth } from './websocket-auth.ts';
import { WebSocketListener } from './websocket-listener.ts';

export interface ServeOptions {
  readonly address: ListenAddress;
  readonly auth: WebSocketAuth;
  readonly config?: Partial<ExecServerConfig>;
  /** Lets anyone who can reach the address run commands. */
  readonly allowUnauthenticated?: boolean;
  readonly log: Logger;
  /** Called with the URL once clients can connect. */
  readonly announce: (url: string) => void;
}

/** Serves until the signal aborts or, on stdio, the input ends; then everything that was started is ended. */
export async function serve(options: ServeOptions, signal: AbortSignal): Promise<void> {
  await using scope = new Scope();
  const accept = scope.own(new ConnectionPoint(options));
  const { address, auth } = options;
  if (address.type === 'stdio') {
    const link = new StdioLink(process.stdin, process.stdout);
    accept.connect(link, { resumable: false });
    await Promise.race([link.closed, aborted(signal)]);
    link.close();
    return;
  }
  if (auth.type === 'none' && !isLoopback(address.host) && !options.allowUnauthenticated) {
    throw new Error(
      `refusing to listen on ${address.host} without authentication: anyone who can reach it could run commands; use --ws-auth, or --allow-unauthenticated if the network is trusted`,
    );
  }
  const listener = scope.own(
    await WebSocketListener.listen({
      ...address,
      auth,
      maxConnections: accept.config.maxConnections,
      onLink: (link) => accept.connect(link, { resumable: true }),
    }),
  );
  options.announce(listener.url);
  await aborted(signal);
}

/** Where links become connections of one server, whatever they are made of. */
export class ConnectionPoint implements AsyncDisposable {
  readonly config: ExecServerConfig;
  readonly #log: Logger;
  readonly #sessions: Sessions;
  readonly #info = environmentInfo();

  constructor(options: { readonly config?: Partial<ExecServerConfig>; readonly log: Logger }) {
    this.config = { ...defaultConfig, ...options.config };
    this.#log = options.log;
    this.#sessions = new Sessions(this.config, options.log);
  }

  connect(link: Link, { resumable }: { resumable: boolean }): void {
    new Connection(link, {
      config: this.config,
      sessions: this.#sessions,
      info: this.#info,
      log: this.#log,
      resumable,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions[Symbol.asyncDispose]();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
