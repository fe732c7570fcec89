import type { Logger } from '../base/index.ts';
import type { ObservedExit, ObservedStart, ProcessObserver, WantedProcess } from '../host/process/index.ts';
import { ExecError } from '../protocol/index.ts';
import type { AuditFacts, AuditLog } from './audit/audit-log.ts';
import type { ServerCounters } from './ops/server-counters.ts';

export interface ProcessRecordsOptions {
  readonly log: Logger;
  readonly audit: AuditLog;
  readonly counters: ServerCounters;
  /** The session, and who uses it now. */
  readonly user: () => AuditFacts;
}

/** Counts the processes of a session, and records them in the log, by program alone, and in the audit log. */
export class ProcessRecords implements ProcessObserver {
  readonly bytes: ServerCounters['bytes'];
  readonly #options: ProcessRecordsOptions;

  constructor(options: ProcessRecordsOptions) {
    this.#options = options;
    this.bytes = options.counters.bytes;
  }

  starting(wanted: WantedProcess): ObservedStart {
    const { log, counters, user } = this.#options;
    const { processId } = wanted;
    const { sessionId, peer, tokenName } = user();
    const audit = this.#options.audit.with({ sessionId, peer, tokenName });
    const notStarted = (error: unknown): void => {
      counters.processes.notStarted++;
      audit.record({ event: 'process.not_started', processId, reason: ExecError.from(error).message });
    };
    try {
      audit.record({ event: 'process.starting', ...wanted });
    } catch (error) {
      notStarted(error);
      throw error;
    }
    const facts = { processId, program: wanted.argv[0], peer, tokenName };
    const beganAt = performance.now();
    let pid = 0;
    return {
      started: (startedPid, spawnMs) => {
        pid = startedPid;
        counters.processes.started++;
        counters.spawnSeconds.observe(spawnMs / 1000);
        log.debug('process.started', { ...facts, pid });
      },
      failed: notStarted,
      exited: (exit) => {
        const durationMs = Math.round(performance.now() - beganAt);
        counters.outcomes[outcomeOf(exit)]++;
        if (exit.sandboxDenied) counters.denials.sandbox++;
        log.info('process.exited', { ...facts, pid, ...exit, durationMs });
        audit.record({ event: 'process.exited', processId, pid, ...exit, durationMs });
      },
    };
  }
}

function outcomeOf({ exitCode, signal, timedOut }: ObservedExit): keyof ServerCounters['outcomes'] {
  if (timedOut) return 'timeout';
  if (signal !== undefined) return 'signal';
  return exitCode === 0 ? 'success' : 'failure';
}
