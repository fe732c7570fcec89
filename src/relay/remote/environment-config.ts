import { type Clock, type Logger, systemClock } from '../../base/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import type { Link } from '../../rpc/index.ts';
import type { HarnessFacts } from '../index.ts';
import { ConnectionKeeper, type ConnectionKeeperOptions } from './connection-keeper.ts';
import type { Credentials } from './credentials.ts';
import { RegistryClient } from './registry-client.ts';
import { parseEnvironmentId, parseRegistryUrl } from './registry-url.ts';

export interface RemoteEnvironmentConfig {
  /** Base URL of the registry. */
  readonly registryUrl: string;
  readonly environmentId: string;
  readonly credentials: Credentials;
  /** Takes the link of every harness that the registry vouched for, with what it told of the harness. */
  readonly accept: (link: Link, harness?: HarnessFacts) => void;
  /** How long the first registration may take; without a limit it is tried for ever. */
  readonly registerTimeoutMs?: number | undefined;
  /** Called after every registration, the first and those that renew it. */
  readonly onRegistered?: (() => void) | undefined;
  /** Proxies and certificates for the registry and its rendezvous; by default no proxies and the system's certificates. */
  readonly outgoing?: Outgoing;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** The values that both kinds of environment derive from their configuration. Throws if the configuration is invalid. */
export function readEnvironmentConfig(config: RemoteEnvironmentConfig) {
  const { credentials, registerTimeoutMs, onRegistered, outgoing = Outgoing.direct, clock = systemClock } = config;
  const environmentId = parseEnvironmentId(config.environmentId);
  const registry = new RegistryClient(parseRegistryUrl(config.registryUrl), environmentId, credentials, outgoing);
  const log = config.log.with({ environmentId });
  const keeperWith = (register: ConnectionKeeperOptions['register']): ConnectionKeeper =>
    new ConnectionKeeper({ register, registerTimeoutMs, onRegistered, clock, log });
  return { environmentId, registry, outgoing, log, keeperWith };
}
