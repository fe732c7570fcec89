import { closeSync, writeSync } from 'node:fs';
import { type Logger, version } from '../../base/index.ts';
import { secretPaths } from '../../host/own/index.ts';
import { ExecError } from '../../protocol/index.ts';
import type { AuditEvent, AuditFacts, AuditLog } from './audit-log.ts';
import { logsAt, openLog } from './open-log.ts';
import { type OwnEvent, recordLine } from './record-line.ts';

export interface AuditFileOptions {
  readonly path: string;
  /** What happens while nothing can be written: processes, ports and HTTP requests are refused, or records are dropped. */
  readonly onFull: () => 'stop' | 'drop';
  readonly counts: { written: number; dropped: number };
  readonly log: Logger;
}

/**
 * An audit log in a file, one JSON object per line. A record is in the hands of the kernel before `record` returns, in one `write` to
 * the end of the file, so that a killed server loses none. While the disk takes no more, a bounded number of bytes waits in memory.
 */
export class AuditFile implements AuditLog, Disposable {
  readonly #options: AuditFileOptions;
  #path: string;
  #descriptor: number;
  /** Whole lines; of the first one `#begun` bytes are written. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #begun = 0;
  /** Since the last record about dropped ones. */
  #dropped = 0;
  /** Why the last write failed. */
  #fault: string | undefined;
  #retry: NodeJS.Timeout | undefined;

  /** Throws if the file cannot be trusted. */
  constructor(options: AuditFileOptions) {
    this.#options = options;
    this.#path = options.path;
    this.#descriptor = openLog(options.path);
    secretPaths.add(...logsAt(options.path));
    this.#record({}, { event: 'server.started', version, pid: process.pid });
  }

  record(event: AuditEvent): void {
    this.#record({}, event);
  }

  with(facts: AuditFacts): AuditLog {
    return {
      record: (event) => this.#record(facts, event),
      with: (more) => this.with({ ...facts, ...more }),
    };
  }

  /** Opens the file once more, which may have been moved away. If that fails, the one in use is kept. */
  reopen(path: string): void {
    this.#flush(); // the end of a line belongs into the file with its beginning, which may be the one that is opened
    const descriptor = openLog(path);
    secretPaths.add(...logsAt(path));
    closeSync(this.#descriptor);
    this.#descriptor = descriptor;
    this.#path = path;
    this.#begun = 0;
    this.#flush();
  }

  [Symbol.dispose](): void {
    this.#record({}, { event: 'server.stopped' });
    clearInterval(this.#retry);
    const records = this.#waiting.length + this.#dropped;
    if (records > 0) this.#options.log.error('audit.lost', { records, path: this.#path, error: this.#fault });
    closeSync(this.#descriptor);
  }

  #record(facts: AuditFacts, event: AuditEvent | OwnEvent): void {
    const line = recordLine(facts, event);
    const isRequired = this.#options.onFull() === 'stop' && BEGINNINGS.has(event.event);
    const isWritten = this.#flush() && this.#write(line);
    if (isWritten) return;
    // A line that is begun has to be completed, whatever becomes of its event.
    const isBegun = this.#begun > 0 && this.#waiting.length === 0;
    if (isBegun || !isRequired) this.#keep(line, isBegun);
    if (!isRequired) return;
    throw new ExecError('internal', `the audit log of this server cannot be written (${this.#fault}): ${REMEDY}`);
  }

  #keep(line: Buffer, always: boolean): void {
    if (!always && this.#waitingBytes + line.length > MOST_WAITING_BYTES) {
      this.#dropped++;
      this.#options.counts.dropped++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#retry ??= setInterval(() => this.#flush(), RETRY_MS).unref();
  }

  /** Writes what waits, then how much was dropped after it. True if nothing waits any more. */
  #flush(): boolean {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (!this.#write(next)) return false;
      this.#waiting.shift();
      this.#waitingBytes -= next.length;
      if (this.#waiting.length === 0 && this.#dropped > 0) this.#reportDropped();
    }
    if (this.#retry) this.#retry = void clearInterval(this.#retry);
    return true;
  }

  #reportDropped(): void {
    const line = recordLine({}, { event: 'audit.dropped', records: this.#dropped });
    this.#dropped = 0;
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
  }

  /** Writes a line from where it was begun; true if it is complete then. */
  #write(line: Buffer): boolean {
    try {
      while (this.#begun < line.length) this.#begun += writeSync(this.#descriptor, line, this.#begun);
    } catch (error) {
      this.#failed(error as NodeJS.ErrnoException);
      return false;
    }
    this.#begun = 0;
    this.#options.counts.written++;
    if (this.#fault) this.#options.log.warn('audit.written_again', { path: this.#path, dropped: this.#dropped });
    this.#fault = undefined;
    return true;
  }

  #failed(error: NodeJS.ErrnoException): void {
    const isNew = this.#fault === undefined;
    this.#fault = error.code ?? error.message;
    const effect = this.#options.onFull() === 'stop' ? 'no process is started' : 'records may be dropped';
    if (isNew) this.#options.log.error('audit.not_written', { path: this.#path, error: this.#fault, effect });
  }
}

/** What does not happen while it cannot be recorded. */
const BEGINNINGS: ReadonlySet<string> = new Set(['process.starting', 'port.opening', 'http.requesting']);

const REMEDY = 'its operator has to make room, nothing is started until then';

/** Enough for the ends of some thousand processes. */
const MOST_WAITING_BYTES = 1024 * 1024;
const RETRY_MS = 1000;
