import type { Grant } from '../access/index.ts';
import type { Logger } from '../base/index.ts';
import type { FileService } from '../host/files/index.ts';
import type { Host } from '../host/index.ts';
import type { HttpClient } from '../host/network/index.ts';
import type { EnvironmentInfo, MethodName, Params, Result } from '../protocol/index.ts';
import type { DeferredResult, EncodedResult } from '../rpc/index.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { ServerCounters } from './ops/server-counters.ts';
import type { ServerSession } from './session.ts';

/** What a handler gets besides its parameters. */
export interface RequestContext {
  readonly session: ServerSession;
  /** All sessions of the server, of other clients as well. */
  readonly sessions: Iterable<ServerSession>;
  /** What the client may do at the time of the request. */
  readonly grant: Grant;
  readonly host: Host;
  readonly info: EnvironmentInfo;
  /** The open files and the outgoing HTTP requests of the connection. */
  readonly files: FileService;
  readonly http: HttpClient;
  /** Aborts when the connection is gone. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Records what the client does, with its session and who it is. */
  readonly audit: AuditLog;
  readonly counters: ServerCounters;
}

type Reply<M extends MethodName> = Result<M> | EncodedResult | DeferredResult;

/** One function per method; a method without one is known but not served. */
export type Handlers = {
  readonly [M in Exclude<MethodName, 'initialize'>]?: (
    params: Params<M>,
    context: RequestContext,
  ) => Reply<M> | Promise<Reply<M>>;
};
