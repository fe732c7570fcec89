import { type AccessTokens, Logins } from '../access/index.ts';
import { aborted, type Logger, Scope } from '../base/index.ts';
import type { Host } from '../host/index.ts';
import { nativeStatus } from '../host/os/index.ts';
import { secretPaths } from '../host/own/index.ts';
import { defaultConfig, type ExecServerConfig } from './config.ts';
import type { ConnectionPoint, ConnectionPointOptions } from './connection-point.ts';
import { isLoopback, type ListenAddress } from './listen-url.ts';
import { Operations } from './operations.ts';
import type { TlsIdentity } from './tls-identity.ts';
import { type Admission, registerSecret, type WebSocketAuth } from './websocket-auth.ts';
import { WebSocketListener } from './websocket-listener.ts';

export interface ServeOptions {
  readonly host: Host;
  readonly address: ListenAddress;
  readonly auth: WebSocketAuth;
  /** Tokens that are accepted besides; a client must present one of these or what `auth` asks for. They may be replaced. */
  readonly tokens?: AccessTokens | undefined;
  /** The certificate and key of a `wss:` address. */
  readonly tls?: TlsIdentity | undefined;
  readonly config?: Partial<ExecServerConfig>;
  readonly sandboxPidNamespace?: ConnectionPointOptions['sandboxPidNamespace'];
  /** Lets anyone who can reach the address run commands. */
  readonly allowUnauthenticated?: boolean;
  readonly log: Logger;
  /** Called with the URL once clients can connect. */
  readonly announce: (url: string) => void;
  /** Called when the code that serves clients has been loaded. */
  readonly loaded?: () => void;
  /** Called with a function that changes authentication and settings of later connections and processes. */
  readonly changes?: (change: (next: ChangeableOptions) => void) => void;
}

export type ChangeableOptions = Pick<ServeOptions, 'auth' | 'config' | 'tls'>;

/** Serves until the signal aborts or, on stdio, the input ends; then ends every process that was started. */
export async function serve(options: ServeOptions, signal: AbortSignal): Promise<void> {
  const { address } = options;
  if (address.type === 'stdio') await serveStdio(options, signal);
  else await serveWebSocket(options, address, signal);
}

async function serveStdio(options: ServeOptions, signal: AbortSignal): Promise<void> {
  const { StdioLink } = await import('../link/index.ts');
  await using scope = new Scope();
  const operations = scope.own(await Operations.open({ ...options, admission: () => options, signal }));
  const { audit, counters } = operations;
  const point = scope.own(await openConnectionPoint({ ...options, audit, counters }));
  operations.watch(point);
  const link = new StdioLink(process.stdin, process.stdout);
  point.connect(link, { resumable: false });
  options.loaded?.();
  options.changes?.(({ config }) => {
    operations.configure(config);
    point.configure(config);
  });
  await Promise.race([link.closed, aborted(signal)]);
  await point.finish();
  link.close();
}

async function serveWebSocket(
  options: ServeOptions,
  address: Exclude<ListenAddress, { type: 'stdio' }>,
  signal: AbortSignal,
): Promise<void> {
  let { auth, config } = options;
  const { tokens } = options;
  if (address.type === 'websocket') requireAuth(options, address.host, auth);
  requireTls(address, options.tls);
  registerSecret(auth);
  await using scope = new Scope();
  let point: Promise<ConnectionPoint> | undefined;
  const admission = (): Admission => ({ auth, tokens });
  const operations = scope.own(await Operations.open({ ...options, admission, signal }));
  const { audit, counters } = operations;
  const ready = (): Promise<ConnectionPoint> => (point ??= openConnectionPoint({ ...options, audit, counters }));
  scope.defer(async () => (await point)?.[Symbol.asyncDispose]());
  const logins = new Logins();
  scope.defer(() => logins[Symbol.dispose]());
  const following = tokens?.follow({
    replaced: (removed) => {
      logins.review();
      void point?.then((server) => server.endSessionsOf(removed));
      audit.record({ event: 'tokens.reloaded' });
    },
    kept: (reason) => audit.record({ event: 'tokens.not_reloaded', reason }),
  });
  scope.defer(() => following?.[Symbol.dispose]());
  const listener = scope.own(
    await WebSocketListener.listen({
      address,
      tls: options.tls,
      unixPeer: () => config?.unixPeerUid ?? undefined,
      admission,
      logins,
      log: options.log,
      audit,
      counters,
      maxConnections: config?.maxConnections ?? defaultConfig.maxConnections,
      fastPath: () => !(config?.noFastPath ?? defaultConfig.noFastPath),
      receiver: async () => {
        const server = await ready();
        return (link, login) => server.connect(link, { resumable: true, login });
      },
    }),
  );
  requireAuth(options, listener.host, auth);
  secretPaths.add(listener.path);
  options.changes?.((next) => {
    requireAuth(options, listener.host, next.auth);
    registerSecret(next.auth);
    operations.configure(next.config);
    ({ auth, config } = next);
    if (next.tls) listener.replaceTls(next.tls);
    listener.maxConnections = { ...defaultConfig, ...next.config }.maxConnections;
    void ready().then(
      (server) => server.configure(next.config),
      () => undefined, // the same failure ends `serveWebSocket`
    );
  });
  options.announce(listener.url);
  const [opened] = await Promise.all([ready(), import('./accept-websocket.ts')]);
  operations.watch(opened);
  options.loaded?.();
  await aborted(signal);
  listener.stopListening();
  await opened.finish();
}

function requireTls(address: ListenAddress, tls: TlsIdentity | undefined): void {
  if (address.type === 'inherited') return; // the one address that may be either
  const needed = address.type === 'websocket' && address.secure;
  if (needed && !tls) throw new Error('a wss:// address needs a certificate and its key');
  if (!needed && tls) throw new Error('a certificate is used on a wss:// address only');
}

/** The host is that of a port; a Unix socket has none. */
function requireAuth(options: ServeOptions, host: string | undefined, auth: WebSocketAuth): void {
  if (host === undefined || isLoopback(host) || auth.type !== 'none' || options.tokens || options.allowUnauthenticated)
    return;
  throw new Error(
    `refusing to listen on ${host} without authentication: anyone who can reach it could run commands; use --tokens-file or --ws-auth, or --allow-unauthenticated if the network is trusted`,
  );
}

/**
 * Opens a server that takes links of any kind. The code that serves clients takes longer to load than a port to open, so it is
 * loaded only here: while the client reads the address.
 */
export async function openConnectionPoint(options: ConnectionPointOptions): Promise<ConnectionPoint> {
  const native = nativeStatus();
  if (!native.ready) throw new Error(native.reason);
  const { ConnectionPoint } = await import('./connection-point.ts');
  return new ConnectionPoint(options);
}
