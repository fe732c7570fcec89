import { constants } from 'node:os';
import type { SignalName } from '../../protocol/index.ts';

const { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL, SIGUSR1, SIGUSR2, SIGSTOP, SIGCONT } = constants.signals;

/** The kernel's numbers for the names of the protocol. */
export const signalNumbers: Readonly<Record<SignalName, number>> = {
  interrupt: SIGINT,
  terminate: SIGTERM,
  hangup: SIGHUP,
  quit: SIGQUIT,
  kill: SIGKILL,
  user1: SIGUSR1,
  user2: SIGUSR2,
  stop: SIGSTOP,
  continue: SIGCONT,
};

/** Of several names for one number, the first. */
const names = new Map(
  Object.entries(constants.signals)
    .map(([name, number]) => [number, name] as const)
    .reverse(),
);

/** The first real-time signal that the C library leaves to programs. */
const SIGRTMIN = 34;

/** The usual name of a signal, such as SIGKILL or SIGRTMIN+1. */
export function signalName(number: number): string {
  const name = names.get(number);
  if (name !== undefined || number < SIGRTMIN) return name ?? `SIG${number}`;
  return number === SIGRTMIN ? 'SIGRTMIN' : `SIGRTMIN+${number - SIGRTMIN}`;
}
