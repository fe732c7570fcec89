import { limits } from '../protocol/limits.ts'; // without the schemas, which a server needs only once it listens

/** What an operator can set. */
export interface ExecServerConfig {
  /** How long a stop of the server may take; its processes have most of it to end on SIGTERM before they are killed. */
  readonly shutdownGracePeriodMs: number;
  /** Processes one session may have running at a time. */
  readonly maxProcessesPerConnection: number;
  /** Output kept per process; also how much a client may leave unconfirmed before the process waits. */
  readonly retainedOutputBytesPerProcess: number;
  /** Whether `process/start` takes the flat form, in which the server works out the environment. */
  readonly allowDirectExec: boolean;
  /** Whether `process/start` takes a prepared spawn request. */
  readonly allowPreparedExec: boolean;
  /** The users that a start may ask to run as, by name or as `UID:GID`; only a server of root can. */
  readonly allowUsers: readonly string[];
  readonly maxConnections: number;
  /** How long a session waits to be resumed; 0 ends its processes with its connection. */
  readonly detachedSessionTtlMs: number;
  /** Requests of one connection worked on at a time, per lane; 1 answers strictly in order. */
  readonly concurrentRequests: number;
  /** Whether managed networks that may use the upstream proxy use it for private addresses, too. */
  readonly proxyPrivateIpsViaUpstream: boolean;
  /** A user besides the server's own whose programs are served on a Unix socket without a token. */
  readonly unixPeerUid: number | null;
  /** What connections to ports may lead to besides loopback: `HOST:PORT`, `[ADDRESS]:PORT` and `unix:/PATH`. */
  readonly allowForward: readonly string[];
  /** Leaves all reading and writing of WebSocket frames to the `ws` package. */
  readonly noFastPath: boolean;
  /** Where an operator's programs find `/healthz` and `/metrics`: `http://IP:PORT` or `unix:/PATH`. */
  readonly opsListen: string | null;
  /** The file in which it is recorded what clients do. */
  readonly auditLog: string | null;
  /** What happens while that file cannot be written: nothing is started, or records are dropped. */
  readonly auditOnFull: 'stop' | 'drop';
}

export const defaultConfig: ExecServerConfig = {
  shutdownGracePeriodMs: 2000,
  maxProcessesPerConnection: 4096,
  retainedOutputBytesPerProcess: limits.retainedOutputBytes,
  allowDirectExec: true,
  allowPreparedExec: true,
  allowUsers: [],
  maxConnections: 1024,
  detachedSessionTtlMs: limits.detachedSessionMs,
  concurrentRequests: limits.requestsInFlight,
  proxyPrivateIpsViaUpstream: false,
  unixPeerUid: null,
  allowForward: [],
  noFastPath: false,
  opsListen: null,
  auditLog: null,
  auditOnFull: 'stop',
};
