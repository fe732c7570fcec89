import { Histogram } from './histogram.ts';

/**
 * What a server counts while it runs: plain numbers, since some change with every chunk of output. What can be looked up, such as
 * the sessions that are open, is not counted here.
 */
export class ServerCounters {
  readonly processes = { started: 0, notStarted: 0 };
  /** How processes ended: with exit code 0, with another, by a signal, or since their time was over. */
  readonly outcomes = { success: 0, failure: 0, signal: 0, timeout: 0 };
  readonly bytes = { output: 0, stdin: 0, fromPorts: 0, toPorts: 0 };
  /** Refusals: sandboxed processes that failed because of one, connections of managed networks, ports, calls beyond the scopes of a token. */
  readonly denials = { sandbox: 0, network: 0, port: 0, scope: 0 };
  /** Clients that were turned away: by their token, by what runs at the other end, or since there are too many. */
  readonly refusedLogins = { token: 0, peer: 0, full: 0 };
  readonly audit = { written: 0, dropped: 0 };
  readonly spawnSeconds = new Histogram(SPAWN_SECONDS);
  connections = 0;
}

/** A plain spawn takes about half a millisecond, one in a sandbox a few; slower ones wait for memory or a busy machine. */
const SPAWN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
