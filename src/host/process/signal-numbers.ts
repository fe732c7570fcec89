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
