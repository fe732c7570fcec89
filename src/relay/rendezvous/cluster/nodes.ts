import { setTimeout as delay } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import type { Logger, Scope } from '../../../base/index.ts';
import type { RendezvousLimits } from '../limits.ts';
import type { ClusterOptions, Commons } from '../service.ts';
import { KvLedger } from '../trust/kv-ledger.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import { KvDirectory } from './kv-directory.ts';
import { NatsBus } from './nats-bus.ts';

interface JoinOptions extends ClusterOptions {
  readonly keys: SigningKeys;
  readonly limits: RendezvousLimits;
  readonly log: Logger;
  now(): number;
}

/** Meets the other nodes on the NATS servers. */
export async function joinCluster(options: JoinOptions, scope: Scope): Promise<Commons> {
  const { servers, node, keys, limits, log } = options;
  const connection = await connect(connectionOptions(options)).catch((error: Error) => {
    throw new Error(`cannot connect to NATS at ${servers.map(withoutSecrets).join(', ')}: ${error.message}`);
  });
  const bus = scope.own(new NatsBus(connection, node, keys, log));
  const most = connection.info?.max_payload ?? 0;
  if (most < 2 * limits.messageBytes) {
    throw new Error(`the NATS servers must allow a max_payload of ${2 * limits.messageBytes} bytes, not ${most}`);
  }
  const { directory, ledger } = await whenReady(() => openBuckets(connection, bus, options));
  return { bus, directory: scope.own(directory), ledger };
}

async function openBuckets(connection: NatsConnection, bus: NatsBus, options: JoinOptions) {
  const { servers, keys, limits, now, log } = options;
  const kvm = new Kvm(jetstream(connection, { timeout: ANSWER_MS }));
  // Reads go to the leader: a copy that lags behind would let things be used twice.
  const common = { replicas: servers.length >= 3 ? 3 : 1, history: 1, allow_direct: false };
  const keepMs = limits.environmentUrlMs + HOUR_MS;
  const registrations = (): Promise<KV> => kvm.create('rz_registrations', { ...common, ttl: keepMs });
  const claims = (): Promise<KV> => kvm.create('rz_once', { ...common, ttl: limits.authorizationMs + MINUTE_MS });
  const ledger = await KvLedger.open(claims, { keepMs: limits.authorizationMs + MINUTE_MS, now });
  const isConnected = (): boolean => bus.connected;
  const directory = await KvDirectory.open(registrations, { node: bus.node, keys, keepMs, isConnected, now, log });
  return { directory, ledger };
}

/** Servers that were just started have to choose a leader first. */
async function whenReady<T>(open: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open();
    } catch (error) {
      if (attempt === ATTEMPTS) throw new Error(`cannot use NATS JetStream: ${(error as Error).message}`);
      await delay(ATTEMPT_MS);
    }
  }
}

/** How long the directory may take to answer before a request is refused. */
const ANSWER_MS = 3000;
const ATTEMPTS = 40;
const ATTEMPT_MS = 250;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

function connectionOptions({ servers, node, user, password, credentials }: JoinOptions): ConnectionOptions {
  return {
    servers: servers.map((server) => new URL(server).host),
    name: `rendezvous ${node}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 5000,
    timeout: 5000,
    ...(credentials && { authenticator: credsAuthenticator(credentials) }),
    ...(password !== undefined && (user === undefined ? { token: password } : { user, pass: password })),
    ...(servers.some((server) => server.startsWith('tls:')) && { tls: {} }),
  };
}

const withoutSecrets = (server: string): string => new URL(server).host;
