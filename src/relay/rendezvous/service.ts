import { Logins } from '../../access/index.ts';
import { type Logger, Scope } from '../../base/index.ts';
import type { AuditLog } from './api/audit-log.ts';
import { HttpListener } from './api/http-listener.ts';
import { randomId } from './api/identifiers.ts';
import { Metrics } from './api/metrics.ts';
import { Registry } from './api/registry.ts';
import { HttpRoutes } from './api/routes.ts';
import { type Bus, LocalBus } from './cluster/bus.ts';
import type { Directory } from './cluster/directory.ts';
import { LocalDirectory } from './cluster/local-directory.ts';
import { type RendezvousLimits, rendezvousLimits, switchLimits } from './limits.ts';
import { Switchboard } from './switch/switchboard.ts';
import type { TokenVerifier } from './trust/identity.ts';
import type { SigningKeys } from './trust/signing-keys.ts';
import { SocketGate } from './trust/socket-gate.ts';
import { LocalUsedIds, type UsedIds } from './trust/used-ids.ts';

export interface RendezvousOptions {
  readonly host: string;
  readonly port: number;
  /** The URL of the service for clients, if it is not the one where it listens. */
  readonly publicUrl?: string;
  readonly verifier: TokenVerifier;
  readonly keys: SigningKeys;
  readonly audit: AuditLog;
  readonly log: Logger;
  /** The NATS servers that connect the nodes of one service. */
  readonly cluster?: ClusterOptions;
  readonly limits?: Partial<RendezvousLimits>;
  readonly now?: () => number;
}

export interface ClusterOptions {
  /** URLs of NATS servers. */
  readonly servers: readonly string[];
  /** The name of this node. */
  readonly node: string;
  readonly user?: string;
  /** With `user` its password, without it a token. */
  readonly password?: string;
  /** A NATS credentials file. */
  readonly credentials?: Uint8Array;
}

/** State that all nodes of a service share. A node that is alone has it in memory. */
export interface SharedState {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly usedIds: UsedIds;
}

/** One node of the registry and the rendezvous. */
export class RendezvousService implements AsyncDisposable {
  readonly url: string;
  readonly #scope: Scope;

  private constructor(url: string, scope: Scope) {
    this.url = url;
    this.#scope = scope;
  }

  static async start(options: RendezvousOptions): Promise<RendezvousService> {
    const scope = new Scope();
    try {
      return new RendezvousService(await assemble(options, scope), scope);
    } catch (error) {
      await scope[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Ends every stream, closes every socket and stops. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#scope[Symbol.asyncDispose]();
  }
}

async function assemble(options: RendezvousOptions, scope: Scope): Promise<string> {
  const { verifier, keys, audit, log, cluster } = options;
  const now = options.now ?? Date.now;
  const steadyNow = options.now ?? (() => performance.now());
  const limits = { ...rendezvousLimits, ...options.limits };
  const metrics = new Metrics();
  let stopping = false;
  const isStopping = (): boolean => stopping;

  const { bus, directory, usedIds } = cluster
    ? await (await import('./cluster/nodes.ts')).joinCluster({ ...cluster, keys, limits, now, log }, scope)
    : alone(limits, now);
  const switchboard = await Switchboard.open({ bus, directory, limits, metrics, log, now, steadyNow });
  let listener: HttpListener | undefined;
  const publicUrl = (): string => options.publicUrl ?? listener!.url;
  const isOnline = switchboard.isOnline.bind(switchboard);
  const registry = new Registry({
    directory,
    usedIds,
    keys,
    verifier,
    limits,
    metrics,
    audit,
    publicUrl,
    now,
    isOnline,
  });
  const api = new HttpRoutes({ registry, directory, verifier, metrics, audit, limits, log, now, isStopping });
  const logins = new Logins(options.now);
  const following = verifier.follow(() => logins.review());
  scope.defer(() => {
    following[Symbol.dispose]();
    logins[Symbol.dispose]();
  });
  const gate = new SocketGate({
    switchboard,
    directory,
    usedIds,
    keys,
    verifier,
    logins,
    limits,
    metrics,
    audit,
    now,
    isStopping,
  });
  listener = scope.own(
    await HttpListener.listen({
      host: options.host,
      port: options.port,
      basePath: options.publicUrl === undefined ? '' : new URL(options.publicUrl).pathname.replace(/\/+$/, ''),
      log,
      answer: (request, path) => api.answer(request, path),
      upgrade: (request, socket, head, url) => gate.open(request, socket, head, url),
    }),
  );
  scope.own(switchboard);
  const ticking = setInterval(() => switchboard.tick(), switchLimits.tickMs);
  scope.defer(() => clearInterval(ticking));
  scope.defer(() => {
    stopping = true;
  });
  return listener.url;
}

function alone(limits: RendezvousLimits, now: () => number): SharedState {
  return {
    bus: new LocalBus(randomId()),
    directory: new LocalDirectory({ most: limits.registrations, keepMs: limits.environmentUrlMs, now }),
    usedIds: new LocalUsedIds(limits.authorizationMs, now),
  };
}
