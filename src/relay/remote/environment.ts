import { type Clock, type Logger, systemClock } from '../../base/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import type { Link } from '../../rpc/index.ts';
import { EnvironmentStreams, generateRelayKeys, publicKeyObject } from '../index.ts';
import { ConnectionKeeper, type Registered } from './connection-keeper.ts';
import type { Credentials } from './credentials.ts';
import { RegistryClient } from './registry-client.ts';
import { parseEnvironmentId, parseRegistryUrl } from './registry-url.ts';
import { StreamRegistration } from './stream-registration.ts';

export interface RemoteEnvironmentConfig {
  /** Base URL of the registry. */
  readonly registryUrl: string;
  readonly environmentId: string;
  readonly credentials: Credentials;
  /** Takes the link of every harness that the registry vouched for. */
  readonly accept: (link: Link) => void;
  /** How long the first registration may take; without it, it is tried for ever. */
  readonly registerTimeoutMs?: number | undefined;
  /** Called after every registration, the first and those that renew it. */
  readonly onRegistered?: (() => void) | undefined;
  /** How the registry and its rendezvous are reached; directly unless said otherwise. */
  readonly outgoing?: Outgoing;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** Serves as a remote environment until the signal aborts; rejects if the environment cannot be registered. */
export async function runRemoteEnvironment(config: RemoteEnvironmentConfig, signal: AbortSignal): Promise<void> {
  const {
    credentials,
    accept,
    registerTimeoutMs,
    onRegistered,
    outgoing = Outgoing.direct,
    clock = systemClock,
  } = config;
  const environmentId = parseEnvironmentId(config.environmentId);
  const registry = new RegistryClient(parseRegistryUrl(config.registryUrl), environmentId, credentials, outgoing);
  const log = config.log.with({ environmentId });
  const keys = generateRelayKeys(); // for as long as the process lives, and never stored
  const register = async (stop: AbortSignal): Promise<Registered> => {
    const { url, registrationId } = await registry.register(publicKeyObject(keys), stop);
    const streams = new EnvironmentStreams({
      keys,
      environmentId,
      registrationId,
      validate: (harnessKey, authorization, streamId, until) =>
        registry.validate({ registrationId, harnessKey, authorization, streamId }, until),
      accept,
      log,
    });
    return new StreamRegistration({ url, streams, isLasting: true, ownsStreams: true, outgoing, log });
  };
  await new ConnectionKeeper({ register, registerTimeoutMs, onRegistered, clock, log }).run(signal);
}
