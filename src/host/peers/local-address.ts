import { createSocket } from 'node:dgram';
import { isIP } from 'node:net';

/**
 * Whether an address belongs to this machine. The kernel is asked, by binding a socket: Node lists no interface without a carrier
 * (`docker0` while no container runs) and no range that is routed to this machine.
 */
export function isOfThisHost(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const version = isIP(address);
    if (version === 0) return resolve(true); // not an address: treated as local, which refuses more
    const trial = createSocket(version === 4 ? 'udp4' : 'udp6');
    const settle = (isLocal: boolean) => {
      trial.close();
      resolve(isLocal);
    };
    trial.once('error', (error: NodeJS.ErrnoException) => settle(error.code !== 'EADDRNOTAVAIL'));
    trial.bind({ address, port: 0, exclusive: true }, () => settle(true));
  });
}
