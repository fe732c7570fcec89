import { systemClock } from '../../base/index.ts';
import type { Connector } from '../../client/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import { limits } from '../../protocol/index.ts';
import { openPlainHarnessStream, PlainEnvironmentStreams } from '../index.ts';
import { ConnectionKeeper, type Registered } from './connection-keeper.ts';
import type { RemoteEnvironmentConfig } from './environment.ts';
import { RegistryClient } from './registry-client.ts';
import { parseEnvironmentId, parseRegistryUrl } from './registry-url.ts';
import { openRendezvousSocket } from './rendezvous-socket.ts';
import { StreamRegistration } from './stream-registration.ts';

/** A message is a frame here, however large. */
const maxPayload = limits.messageBytes;

/**
 * Serves as a remote environment in the older way: the rendezvous reads along, and whoever it lets in can run
 * commands. For a rendezvous that one trusts as much as oneself.
 */
export async function runPlainEnvironment(config: RemoteEnvironmentConfig, signal: AbortSignal): Promise<void> {
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
  const register = async (stop: AbortSignal): Promise<Registered> => {
    const url = await registry.registerPlainly(stop);
    const streams = new PlainEnvironmentStreams({ accept, log });
    return new StreamRegistration({ url, streams, isLasting: false, maxPayload, outgoing, log });
  };
  await new ConnectionKeeper({ register, registerTimeoutMs, onRegistered, clock, log }).run(signal);
}

/** Connects in the older way to the address that a rendezvous gave out for a harness. */
export function viaPlainRelay(url: string, outgoing = Outgoing.direct): Connector {
  return async (signal) => {
    const socket = await openRendezvousSocket(url, { onText: 'disconnect', maxPayload, outgoing }, signal);
    return openPlainHarnessStream(socket);
  };
}
