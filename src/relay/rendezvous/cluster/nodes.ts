import { setTimeout as delay } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import type { Logger, Scope } from '../../../base/index.ts';
import { natsLimits, type RendezvousLimits } from '../limits.ts';
import type { ClusterOptions, SharedState } from '../service.ts';
import { KvUsedIds } from '../trust/kv-used-ids.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import { KvDirectory } from './kv-directory.ts';
import { NatsBus } from './nats-bus.ts';

interface JoinOptions extends ClusterOptions {
  readonly keys: SigningKeys;
  readonly limits: RendezvousLimits;
  readonly log: Logger;
  now(): number;
}

/** Connects to the NATS servers of the cluster. */
export async function joinCluster(options: JoinOptions, scope: Scope): Promise<SharedState> {
  const { servers, node, keys, limits, log } = options;
  const connection = await connect(connectionOptions(options)).catch((error: Error) => {
    throw new Error(`cannot connect to NATS at ${servers.map(withoutSecrets).join(', ')}: ${error.message}`);
  });
  const bus = scope.own(new NatsBus(connection, node, keys, log));
  const most = connection.info?.max_payload ?? 0;
  if (most < 2 * limits.messageBytes) {
    throw new Error(`the NATS servers must allow a max_payload of ${2 * limits.messageBytes} bytes, not ${most}`);
  }
  const { directory, usedIds } = await whenReady(() => openBuckets(connection, bus, options));
  return { bus, directory: scope.own(directory), usedIds };
}

async function openBuckets(connection: NatsConnection, bus: NatsBus, options: JoinOptions) {
  const { servers, keys, limits, now, log } = options;
  const kvm = new Kvm(jetstream(connection, { timeout: natsLimits.answerMs }));
  // Reads go to the leader: a replica that lags behind would let an authorization be used twice.
  const common = { replicas: servers.length >= 3 ? 3 : 1, history: 1, allow_direct: false };
  const keepMs = limits.environmentUrlMs + natsLimits.registrationGraceMs;
  const registrations = (): Promise<KV> => kvm.create('rz_registrations', { ...common, ttl: keepMs });
  const claims = (): Promise<KV> =>
    kvm.create('rz_once', { ...common, ttl: limits.authorizationMs + natsLimits.claimGraceMs });
  const usedIds = await KvUsedIds.open(claims, { keepMs: limits.authorizationMs + natsLimits.claimGraceMs, now });
  const isConnected = (): boolean => bus.connected;
  const directory = await KvDirectory.open(registrations, { node: bus.node, keys, keepMs, isConnected, now, log });
  return { directory, usedIds };
}

/** Servers that were just started elect a leader first. */
async function whenReady<T>(open: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await open();
    } catch (error) {
      if (tries === natsLimits.openTries) throw new Error(`cannot use NATS JetStream: ${(error as Error).message}`);
      await delay(natsLimits.openPauseMs);
    }
  }
}

function connectionOptions({ servers, node, user, password, credentials }: JoinOptions): ConnectionOptions {
  return {
    servers: servers.map((server) => new URL(server).host),
    name: `rendezvous ${node}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: natsLimits.reconnectPauseMs,
    reconnectJitter: natsLimits.reconnectJitterMs,
    pingInterval: natsLimits.pingMs,
    timeout: natsLimits.connectMs,
    ...(credentials && { authenticator: credsAuthenticator(credentials) }),
    ...(password !== undefined && (user === undefined ? { token: password } : { user, pass: password })),
    ...(servers.some((server) => server.startsWith('tls:')) && { tls: {} }),
  };
}

const withoutSecrets = (server: string): string => new URL(server).host;
