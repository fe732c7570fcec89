import type { WantedProcess } from '../../host/process/index.ts';

/** What happened, as it stands in the audit log beside the facts of its session. */
export type AuditEvent =
  | { readonly event: 'login.accepted' }
  | { readonly event: 'login.refused'; readonly reason: string }
  /** The connection was closed since its token was removed or is too old. */
  | { readonly event: 'login.ended'; readonly reason: string }
  | { readonly event: 'tokens.reloaded' }
  | { readonly event: 'tokens.not_reloaded'; readonly reason: string }
  | { readonly event: 'session.attached'; readonly clientName: string; readonly resumed: boolean }
  /** With all words of `argv`, of which those that are a credential of this server are replaced. */
  | ({ readonly event: 'process.starting' } & WantedProcess)
  | { readonly event: 'process.not_started'; readonly processId: string; readonly reason: string }
  | ({ readonly event: 'process.exited' } & ExitedProcess)
  | ({ readonly event: 'port.opening' } & WantedPort)
  | ({ readonly event: 'port.refused'; readonly reason: string } & WantedPort)
  /** Of the address only scheme, host and port: the rest may hold secrets. Redirects that the server follows are not recorded. */
  | { readonly event: 'http.requesting'; readonly requestId: string; readonly method: string; readonly origin: string }
  | ({
      readonly event: 'approval.answered';
      readonly processId: string;
      readonly decision: 'allow' | 'deny';
    } & Question);

export interface ExitedProcess {
  readonly processId: string;
  readonly pid: number;
  readonly exitCode: number;
  /** The signal that ended it, if one did. */
  readonly signal?: string;
  /** It was ended since its time was over. */
  readonly timedOut?: boolean;
  readonly sandboxDenied: boolean;
  readonly durationMs: number;
}

/** A connection that a client wants to have opened for it: to a host and port, or to the path of a Unix socket. */
export interface WantedPort {
  readonly streamId: string;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  /** The process whose network is used. */
  readonly processId?: string | undefined;
}

/** A connection of a process that the policy of its managed network leaves to the client. */
export interface Question {
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
  readonly reason?: string | undefined;
}

/** Who caused an event. */
export interface AuditFacts {
  readonly sessionId?: string | undefined;
  /** The other end of the connection. */
  readonly peer?: string | undefined;
  readonly tokenName?: string | undefined;
}

/** A lasting record of what clients do, for an operator. */
export interface AuditLog {
  /**
   * Records an event before it returns. For `process.starting`, `port.opening` and `http.requesting` it throws an `ExecError` when the event cannot be
   * recorded and the operator wants nothing to happen then: call it before the act. It never throws for any other event.
   */
  record(event: AuditEvent): void;
  /** The same log, with these facts in every record. */
  with(facts: AuditFacts): AuditLog;
}

/** The audit log of a server that keeps none. */
export const noAudit: AuditLog = { record() {}, with: () => noAudit };
