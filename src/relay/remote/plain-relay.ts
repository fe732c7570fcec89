import type { Connector } from '../../client/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import { limits } from '../../protocol/index.ts';
import { openPlainHarnessStream, PlainEnvironmentStreams, type Reattach } from '../index.ts';
import type { ActiveRegistration } from './connection-keeper.ts';
import { type RemoteEnvironmentConfig, readEnvironmentConfig } from './environment-config.ts';
import { UpgradeRefused } from './open-websocket.ts';
import { openRendezvousSocket } from './rendezvous-socket.ts';
import { StreamRegistration } from './stream-registration.ts';

/** Without acknowledgements a frame carries a whole message. */
const maxPayload = limits.messageBytes;

/**
 * Serves as a remote environment on the plain relay: the rendezvous can read everything, and every harness that it admits can run
 * commands. For a rendezvous that is trusted as much as this machine.
 */
export async function runPlainEnvironment(config: RemoteEnvironmentConfig, signal: AbortSignal): Promise<void> {
  const { registry, outgoing, log, keeperWith } = readEnvironmentConfig(config);
  await using streams = new PlainEnvironmentStreams({ accept: config.accept, log });
  const register = async (stop: AbortSignal): Promise<ActiveRegistration> => {
    const url = await registry.registerPlainly(stop);
    return new StreamRegistration({ url, streams, isReusable: false, ownsStreams: false, maxPayload, outgoing, log });
  };
  await keeperWith(register).run(signal);
}

/** Connects over the plain relay, to the URL that a rendezvous gave out for a harness. */
export function viaPlainRelay(url: string, outgoing = Outgoing.direct): Connector {
  const open = (signal: AbortSignal) =>
    openRendezvousSocket(url, { onText: 'disconnect', maxPayload, outgoing }, signal);
  return async (signal) => {
    const reattach: Reattach = async (stop) => {
      try {
        return await open(stop);
      } catch (error) {
        if (error instanceof UpgradeRefused && error.status < 500) link.destroy(); // the URL is valid for one socket
        throw error;
      }
    };
    const link = openPlainHarnessStream(await open(signal), { reattach });
    return link;
  };
}
