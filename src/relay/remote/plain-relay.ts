import { systemClock } from '../../base/index.ts';
import type { Connector } from '../../client/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import { limits } from '../../protocol/index.ts';
import { openPlainHarnessStream, PlainEnvironmentStreams, type Reattach } from '../index.ts';
import { ConnectionKeeper, type Registered } from './connection-keeper.ts';
import type { RemoteEnvironmentConfig } from './environment.ts';
import { UpgradeRefused } from './open-websocket.ts';
import { RegistryClient } from './registry-client.ts';
import { parseEnvironmentId, parseRegistryUrl } from './registry-url.ts';
import { openRendezvousSocket } from './rendezvous-socket.ts';
import { StreamRegistration } from './stream-registration.ts';

/** A message is a frame here, however large. */
const maxPayload = limits.messageBytes;

/**
 * Serves as a remote environment in the older way: the rendezvous can read everything, and every harness that it lets in can
 * run commands. For a rendezvous that is trusted as much as this machine.
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
  await using streams = new PlainEnvironmentStreams({ accept, log });
  const register = async (stop: AbortSignal): Promise<Registered> => {
    const url = await registry.registerPlainly(stop);
    return new StreamRegistration({ url, streams, isLasting: false, ownsStreams: false, maxPayload, outgoing, log });
  };
  await new ConnectionKeeper({ register, registerTimeoutMs, onRegistered, clock, log }).run(signal);
}

/** Connects in the older way to the address that a rendezvous gave out for a harness. */
export function viaPlainRelay(url: string, outgoing = Outgoing.direct): Connector {
  const open = (signal: AbortSignal) =>
    openRendezvousSocket(url, { onText: 'disconnect', maxPayload, outgoing }, signal);
  return async (signal) => {
    const reattach: Reattach = async (stop) => {
      try {
        return await open(stop);
      } catch (error) {
        if (error instanceof UpgradeRefused && error.status < 500) link.destroy(); // the address was good for one socket
        throw error;
      }
    };
    const link = openPlainHarnessStream(await open(signal), { reattach });
    return link;
  };
}
