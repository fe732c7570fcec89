import type { IncomingMessage } from 'node:http';
import { bearerToken, faultFields, type Logger } from '../../../base/index.ts';
import type { Directory, Registration } from '../cluster/directory.ts';
import { httpLimits, type RendezvousLimits } from '../limits.ts';
import type { Identity, TokenScope, TokenVerifier } from '../trust/identity.ts';
import type { AuditLog } from './audit-log.ts';
import { HttpRefusal } from './http-refusal.ts';
import { isEnvironmentId } from './identifiers.ts';
import type { Metrics } from './metrics.ts';
import { RateLimit } from './rate-limit.ts';
import type { Registry, RegistryRequest } from './registry.ts';

export interface HttpRoutesOptions {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly verifier: TokenVerifier;
  readonly metrics: Metrics;
  readonly audit: AuditLog;
  readonly limits: RendezvousLimits;
  readonly log: Logger;
  now(): number;
  isStopping(): boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Operation = 'register' | 'connect' | 'validate';

const scopeOf: Readonly<Record<Operation, TokenScope>> = {
  register: 'executor',
  connect: 'harness',
  validate: 'executor',
};

const REGISTRY = /^\/cloud\/environment\/([^/]+)\/(register|connect|validate)$/;
const OPERATORS = /^\/v1\/environments(?:\/([^/]+))?$/;

/** Answers HTTP requests: the registry, the list for operators, the status. */
export class HttpRoutes {
  readonly #options: HttpRoutesOptions;
  readonly #connects: RateLimit;

  constructor(options: HttpRoutesOptions) {
    this.#options = options;
    this.#connects = new RateLimit(options.limits.socketsPerSecond, 1000, options.now);
  }

  async answer(request: IncomingMessage, path: string): Promise<HttpAnswer> {
    if (request.headers.origin !== undefined)
      return refused(new HttpRefusal(403, 'forbidden', 'browsers are not served'));
    const [, environmentId, operation] = REGISTRY.exec(path) ?? [];
    try {
      if (environmentId && operation) return await this.#registry(request, environmentId, operation as Operation);
      if (OPERATORS.test(path)) return await this.#operators(request, OPERATORS.exec(path)?.[1]);
      return this.#status(request, path);
    } catch (error) {
      return refused(this.#refusalFor(error));
    }
  }

  #status({ method }: IncomingMessage, path: string): HttpAnswer {
    const { metrics, directory, isStopping } = this.#options;
    if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics') {
      throw new HttpRefusal(404, 'not_found', `nothing is served at ${path}`);
    }
    requireMethod(method, 'GET');
    if (path === '/metrics') return { status: 200, text: metrics.text() };
    if (path === '/healthz') return { status: 200, text: 'ok\n' };
    const ready = directory.ready && !isStopping();
    return ready ? { status: 200, text: 'ready\n' } : { status: 503, text: 'not ready\n' };
  }

  async #registry(request: IncomingMessage, environmentId: string, operation: Operation): Promise<HttpAnswer> {
    const { metrics, registry, audit } = this.#options;
    let name: string | undefined;
    try {
      requireMethod(request.method, 'POST');
      const identity = await this.#identify(request);
      name = identity.name;
      requireScope(identity, scopeOf[operation], environmentId);
      if (operation === 'connect' && !this.#connects.allows(identity.name)) {
        throw new HttpRefusal(
          429,
          'too_many_connections',
          `at most ${this.#options.limits.socketsPerSecond} connections in a second`,
          1,
        );
      }
      const body = await this.#json(request);
      const asked: RegistryRequest = { environmentId, identity, body };
      const answer = await registry[operation](asked);
      metrics.add('rendezvous_requests_total', { operation, status: '200' });
      return { status: 200, body: answer };
    } catch (error) {
      const refusal = this.#refusalFor(error);
      metrics.add('rendezvous_requests_total', { operation, status: String(refusal.status) });
      const peer = request.socket.remoteAddress;
      const asked = environmentId.slice(0, httpLimits.loggedIdCharacters); // not validated yet
      audit.record('request.refused', { operation, environmentId: asked, by: name, peer, code: refusal.code });
      throw refusal;
    }
  }

  /** Any error but an `HttpRefusal` is a fault of the service, most likely of its directory. */
  #refusalFor(error: unknown): HttpRefusal {
    if (error instanceof HttpRefusal) return error;
    this.#options.log.warn('request.failed', faultFields(error));
    return new HttpRefusal(503, 'unavailable', 'the service cannot answer now', 1);
  }

  async #operators(request: IncomingMessage, environmentId: string | undefined): Promise<HttpAnswer> {
    const identity = await this.#identify(request);
    if (environmentId === undefined) {
      requireMethod(request.method, 'GET');
      return { status: 200, body: { environments: this.#listing(identity) } };
    }
    requireMethod(request.method, 'DELETE');
    requireScope(identity, 'admin', environmentId);
    const { directory, audit } = this.#options;
    if (!(await directory.remove(environmentId))) throw new HttpRefusal(404, 'not_found', 'no such environment');
    audit.record('environment.removed', { environmentId, by: identity.name });
    return { status: 204 };
  }

  #listing(identity: Identity): object[] {
    if (!identity.holds('admin')) throw new HttpRefusal(403, 'forbidden', 'the token does not allow scope admin');
    return [...this.#options.directory.list()]
      .filter(({ environmentId }) => identity.mayAct('admin', environmentId))
      .map((registration) => this.#shown(registration));
  }

  #shown({ environmentId, registrationId, state, node, epoch, updated, registeredBy }: Registration): object {
    const { limits, now } = this.#options;
    const heard = now() - updated < limits.staleMs;
    return {
      environment_id: environmentId,
      executor_registration_id: registrationId,
      state: heard ? state : 'offline',
      node,
      epoch,
      registered_by: registeredBy,
      updated: new Date(updated).toISOString(),
    };
  }

  async #identify({ headers }: IncomingMessage): Promise<Identity> {
    const token = bearerToken(headers.authorization ?? '');
    const identity = token === undefined ? undefined : await this.#options.verifier.identify(token);
    if (!identity) throw new HttpRefusal(401, 'unauthorized', 'a valid bearer token is required');
    return identity;
  }

  async #json(request: IncomingMessage): Promise<unknown> {
    const text = await bodyOf(request, this.#options.limits.requestBytes);
    if (text === undefined) throw new HttpRefusal(413, 'too_large', 'the body is too large');
    try {
      return JSON.parse(text);
    } catch {
      throw new HttpRefusal(400, 'invalid_request', 'the body is not JSON');
    }
  }
}

/** Undefined if the body is longer than the limit. Iterating would then destroy the request, so it could not be answered. */
function bodyOf(request: IncomingMessage, limit: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else resolve(undefined);
    });
    request.once('end', () => resolve(Buffer.concat(chunks).toString()));
    request.once('error', reject);
  });
}

function requireMethod(method: string | undefined, wanted: string): void {
  if (method !== wanted) throw new HttpRefusal(405, 'method_not_allowed', `use ${wanted}`);
}

function requireScope(identity: Identity, scope: TokenScope, environmentId: string): void {
  if (!identity.mayAct(scope, environmentId)) {
    throw new HttpRefusal(403, 'forbidden', `the token does not allow scope ${scope} for this environment`);
  }
  if (!isEnvironmentId(environmentId)) {
    throw new HttpRefusal(400, 'invalid_environment_id', 'an id has 1 to 64 characters of A-Z a-z 0-9 _ -');
  }
}

function refused({ status, code, message, retryAfterSeconds }: HttpRefusal): HttpAnswer {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status, headers, body: { error: { code, message } } };
}
