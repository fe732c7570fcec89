import { closeSync, createWriteStream, openSync, type WriteStream } from 'node:fs';
import type { LogFields, Logger } from '../../../base/index.ts';

export type AuditEvent =
  | 'environment.registered'
  | 'environment.connected'
  | 'environment.disconnected'
  | 'environment.removed'
  | 'harness.admitted'
  | 'harness.connected'
  | 'harness.validated'
  | 'harness.disconnected'
  | 'request.refused';

/** The log names the holders of tokens and their environments. */
const MODE = 0o600;

/** One JSON object per line and event. Tokens appear as short hashes, frames and authorizations not at all. */
export class AuditLog implements AsyncDisposable {
  readonly #log: Logger;
  readonly #path: string | undefined;
  #file: WriteStream | undefined;

  /** Throws if the file cannot be written: a service that was told to keep an audit log does not run without one. */
  constructor(log: Logger, path: string | undefined) {
    this.#log = log;
    this.#path = path;
    if (path !== undefined) requireWritable(path);
    this.reopen();
  }

  record(event: AuditEvent, fields: LogFields): void {
    this.#log.info(event, fields);
    this.#file?.write(`${JSON.stringify({ time: new Date().toISOString(), event, ...fields })}\n`);
  }

  /** Begins a new file where the old one was moved away. */
  reopen(): void {
    if (this.#path === undefined) return;
    this.#file?.end();
    this.#file = createWriteStream(this.#path, { flags: 'a', mode: MODE });
    this.#file.on('error', (error) => this.#log.error('audit.write_failed', { error: error.message }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const file = this.#file;
    if (file && !file.destroyed) await new Promise<void>((resolve) => file.end(() => resolve()));
  }
}

function requireWritable(path: string): void {
  try {
    closeSync(openSync(path, 'a', MODE));
  } catch (error) {
    throw new Error(`cannot write the audit log: ${(error as Error).message}`);
  }
}
