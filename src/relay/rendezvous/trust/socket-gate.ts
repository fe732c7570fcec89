import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Grant, type LoginEnd, type Logins, unnamedGrant } from '../../../access/index.ts';
import type { AuditLog } from '../api/audit-log.ts';
import { HttpRefusal } from '../api/http-refusal.ts';
import type { Metrics } from '../api/metrics.ts';
import { RateLimit } from '../api/rate-limit.ts';
import type { Directory } from '../cluster/directory.ts';
import type { RendezvousLimits } from '../limits.ts';
import { type Closing, closings, type SocketOwner } from '../switch/frame-socket.ts';
import type { Switchboard } from '../switch/switchboard.ts';
import { WebSocketFrames } from '../switch/websocket-frames.ts';
import type { Identity, TokenVerifier } from './identity.ts';
import type { SigningKeys } from './signing-keys.ts';
import { claimedRole, readSocketUrl, type SocketGrant } from './socket-url.ts';
import type { UsedIds } from './used-ids.ts';

export interface SocketGateOptions {
  readonly switchboard: Switchboard;
  readonly directory: Directory;
  readonly usedIds: UsedIds;
  readonly keys: SigningKeys;
  readonly verifier: TokenVerifier;
  /** Those of the open sockets. */
  readonly logins: Logins;
  readonly limits: RendezvousLimits;
  readonly metrics: Metrics;
  readonly audit: AuditLog;
  now(): number;
  isStopping(): boolean;
}

/**
 * Checks what a socket URL grants before anything is upgraded. A refusal of 4xx makes an executor register again and a
 * harness fetch a new bundle; 5xx makes an executor try again as it is.
 */
export class SocketGate {
  readonly #options: SocketGateOptions;
  readonly #sockets: WebSocketServer;
  readonly #openings: RateLimit;

  constructor(options: SocketGateOptions) {
    this.#options = options;
    this.#openings = new RateLimit(options.limits.socketsPerSecond, 1000, options.now);
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: options.limits.messageBytes,
      handleProtocols: () => false,
    });
  }

  /** Opens the socket, or throws the refusal. */
  async open(request: IncomingMessage, socket: Socket, head: Buffer, url: URL): Promise<void> {
    const claimed = claimedRole(url);
    if (claimed === undefined) throw new HttpRefusal(404, 'not_found', `nothing is served at ${url.pathname}`);
    const role = claimed === 'environment' ? 'environment' : 'harness';
    try {
      if (request.headers.origin !== undefined) throw new HttpRefusal(403, 'forbidden', 'browsers are not served');
      const grant = this.#granted(url);
      const receiver = await this.#receiverFor(grant);
      this.#upgrade(request, socket, head, grant, receiver);
      this.#options.metrics.add('rendezvous_upgrades_total', { role, status: '101' });
    } catch (error) {
      const status = error instanceof HttpRefusal ? error.status : 503;
      const code = error instanceof HttpRefusal ? error.code : 'unavailable';
      const environmentId = url.pathname.split('/').at(-1);
      this.#options.metrics.add('rendezvous_upgrades_total', { role, status: String(status) });
      const peer = socket.remoteAddress;
      this.#options.audit.record('request.refused', { operation: 'socket', role, environmentId, peer, code });
      throw error;
    }
  }

  #granted(url: URL): SocketGrant {
    const { switchboard, directory, keys, limits, now, isStopping } = this.#options;
    const grant = readSocketUrl(url, keys, now());
    if (!grant)
      throw new HttpRefusal(401, 'invalid_url', 'the URL was not signed by this service, was changed or has expired');
    if (!this.#loginOf(grant))
      throw new HttpRefusal(401, 'token_ended', 'the token of this URL was changed or is not good any more');
    if (isStopping()) throw new HttpRefusal(503, 'stopping', 'the service is stopping');
    if (!directory.ready) throw new HttpRefusal(503, 'unavailable', 'the directory cannot be reached');
    if (switchboard.socketCount >= limits.socketsPerNode)
      throw new HttpRefusal(503, 'full', `this node has ${limits.socketsPerNode} sockets, which is the limit`);
    const registration = directory.get(grant.environmentId);
    if (registration?.registrationId !== grant.registrationId) throw stale();
    if (grant.role === 'environment' && !this.#openings.allows(registration.registeredBy)) {
      throw new HttpRefusal(503, 'too_many_connections', `at most ${limits.socketsPerSecond} sockets in a second`);
    }
    return grant;
  }

  /** What the token behind a URL is good for; undefined if it is not good any more, or grants something else now. */
  #loginOf(grant: SocketGrant): Grant | undefined {
    if (grant.token === undefined) return unnamedGrant; // of an earlier version of this service
    const bearer = this.#bearerOf(grant, grant.token);
    return bearer?.mark === grant.token ? bearer.grant : undefined;
  }

  #bearerOf({ role, environmentId }: SocketGrant, mark: string): Identity | undefined {
    const identity = this.#options.verifier.marked(mark);
    return identity?.mayAct(role === 'environment' ? 'executor' : 'harness', environmentId) ? identity : undefined;
  }

  /** A harness whose token grants something else has to come back: its environment was told the old grant with its streams. */
  #closingOf(end: LoginEnd, grant: SocketGrant): Closing {
    const isGood = grant.token !== undefined && this.#bearerOf(grant, grant.token) !== undefined;
    return end === 'revoked' && isGood ? closings.changed : closings[end];
  }

  async #receiverFor(grant: SocketGrant): Promise<SocketOwner> {
    const { switchboard, usedIds } = this.#options;
    if (grant.role === 'environment') {
      const receiver = await switchboard.takeEnvironment(grant.environmentId, grant.registrationId);
      if (!receiver) throw stale();
      return receiver;
    }
    if (!(await usedIds.claim(grant.connectionId))) throw new HttpRefusal(401, 'url_used', 'the URL was used before');
    const receiver = await switchboard.takeHarness(grant);
    if (!receiver) throw new HttpRefusal(401, 'environment_offline', 'the environment is not connected');
    return receiver;
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer, grant: SocketGrant, receiver: SocketOwner): void {
    const { audit, limits, logins, now } = this.#options;
    let opened = false;
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      opened = true;
      const facts = factsOf(grant);
      const since = now();
      audit.record(`${grant.role}.connected`, { ...facts, peer: socket.remoteAddress });
      const login = logins.open(() => this.#loginOf(grant));
      void login.ended.then((end) => expel(ws, this.#closingOf(end, grant)));
      ws.once('close', (code) => {
        logins.close(login);
        audit.record(`${grant.role}.disconnected`, { ...facts, code, seconds: Math.round((now() - since) / 1000) });
      });
      receiver.attach(new WebSocketFrames(ws, receiver, limits));
    });
    if (!opened) receiver.ended(); // the client hung up, or its request is no WebSocket upgrade
  }
}

/** Closes the socket of a peer whose token is not good any more or was changed, whether or not the peer answers. */
function expel(ws: WebSocket, { code, reason }: Closing): void {
  ws.close(code, reason);
  setTimeout(() => ws.terminate(), EXPEL_MS).unref();
}

/** How long an expelled peer may take to answer the close frame. */
const EXPEL_MS = 250;

const stale = (): HttpRefusal =>
  new HttpRefusal(401, 'stale_registration', 'the environment was registered again since this URL was signed');

function factsOf(grant: SocketGrant): Record<string, string> {
  const { environmentId, registrationId } = grant;
  if (grant.role === 'environment') return { environmentId, registrationId };
  return { environmentId, registrationId, connectionId: grant.connectionId, key: grant.key.slice(0, 16) };
}
