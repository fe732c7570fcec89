/** The certificate of a listener, with the chain to its authority, and the private key; both PEM. */
export interface TlsIdentity {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** Loaded only where a listener speaks TLS: loading it takes longer than the rest of opening a port. */
const https = (): typeof import('node:https') => process.getBuiltinModule('node:https');

/** An HTTPS server; its certificate can be replaced by `setSecureContext`, for connections that clients open from then on. */
export function createTlsServer(identity: TlsIdentity, options: TlsServerOptions): import('node:https').Server {
  const { certificate: cert, key } = identity;
  return https().createServer({ ...options, cert, key });
}

type TlsServerOptions = Pick<
  import('node:https').ServerOptions,
  'connectionsCheckingInterval' | 'handshakeTimeout' | 'noDelay'
>;
