import { type Logger, onAbort, systemClock } from '../../base/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import { WebSocketLink } from '../../link/index.ts';
import { limits } from '../../protocol/index.ts';
import { type AwsCredentials, type AwsScope, signRequest } from './aws-signature.ts';
import { type ActiveRegistration, ConnectionKeeper } from './connection-keeper.ts';
import type { RemoteEnvironmentConfig } from './environment-config.ts';
import { openWebSocket } from './open-websocket.ts';
import { RegistryError } from './registry-error.ts';
import { RegistryHttp } from './registry-http.ts';
import { postJson, type RegistryAnswer } from './registry-request.ts';
import { isOnThisMachine, parseEnvironmentId, parseRegistryUrl, requireEncryption } from './registry-url.ts';

export interface DirectEnvironmentConfig extends Omit<RemoteEnvironmentConfig, 'credentials'> {
  /** Signs every request with AWS Signature Version 4. */
  readonly aws: { readonly credentials: AwsCredentials; readonly scope: AwsScope };
}

const TRANSPORT = 'direct_jsonrpc_v1';

/**
 * Serves over a websocket of its own, without a rendezvous, until the signal aborts. Only TLS protects the messages, so this is for a
 * registry that may read them.
 */
export async function runDirectEnvironment(config: DirectEnvironmentConfig, signal: AbortSignal): Promise<void> {
  const { registerTimeoutMs, onRegistered, outgoing = Outgoing.direct, clock = systemClock } = config;
  const http = new RegistryHttp(outgoing);
  const environmentId = parseEnvironmentId(config.environmentId);
  const registry = parseRegistryUrl(config.registryUrl);
  requireEncryption(registry);
  const address = new URL(`${registry.href.replace(/\/+$/, '')}/cloud/environment/${environmentId}/direct/register`);
  const log = config.log.with({ environmentId });
  const register = async (stop: AbortSignal): Promise<ActiveRegistration> => {
    const body = JSON.stringify({ transport: TRANSPORT });
    const plain = { 'content-type': 'application/json' };
    const { credentials, scope } = config.aws;
    const signed = signRequest({ method: 'POST', url: address, headers: plain, body }, credentials, scope);
    const answer = await postJson(http, { url: address, headers: { ...plain, ...signed }, body }, stop);
    return new DirectRegistration(websocketIn(answer, environmentId), config, log);
  };
  await new ConnectionKeeper({ register, registerTimeoutMs, onRegistered, clock, log }).run(signal);
}

function websocketIn(answer: RegistryAnswer, environmentId: string): URL {
  const { environment_id: id, registration_id: registrationId, transport, url } = answer;
  if (id !== environmentId) throw mismatch('a different environment id');
  if (transport !== TRANSPORT) throw mismatch('an unsupported transport');
  if (typeof registrationId !== 'string' || typeof url !== 'string' || !URL.canParse(url)) {
    throw mismatch('incomplete direct connection data');
  }
  const address = new URL(url);
  if (address.protocol === 'wss:' || (address.protocol === 'ws:' && isOnThisMachine(address))) return address;
  throw mismatch('a direct connection without TLS');
}

function mismatch(what: string): RegistryError {
  return new RegistryError(`environment registry returned ${what}`, { status: 200 });
}

class DirectRegistration implements ActiveRegistration {
  readonly isReusable = true;
  readonly #url: URL;
  readonly #config: DirectEnvironmentConfig;
  readonly #log: Logger;

  constructor(url: URL, config: DirectEnvironmentConfig, log: Logger) {
    this.#url = url;
    this.#config = config;
    this.#log = log;
  }

  async connect(signal: AbortSignal): Promise<void> {
    const { aws, accept, outgoing = Outgoing.direct } = this.#config;
    const headers = signRequest({ method: 'GET', url: this.#url }, aws.credentials, aws.scope);
    const options = { headers, maxPayload: limits.messageBytes, outgoing };
    const link = await openWebSocket(
      this.#url.href,
      options,
      (ws) => {
        const opened = new WebSocketLink(ws, { peer: this.#url.host, pingIntervalMs: limits.pingIntervalMs });
        accept(opened);
        return opened;
      },
      signal,
    );
    using _closing = onAbort(signal, () => link.close());
    this.#log.info('rendezvous.connected');
    await link.closed;
    this.#log.info('rendezvous.disconnected');
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
