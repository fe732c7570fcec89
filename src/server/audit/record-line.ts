import { isOwnCredential } from '../../host/own/index.ts';
import type { AuditEvent, AuditFacts } from './audit-log.ts';

/** What the log records about itself. */
export type OwnEvent =
  | { readonly event: 'server.started'; readonly version: string; readonly pid: number }
  | { readonly event: 'server.stopped' }
  | { readonly event: 'audit.dropped'; readonly records: number };

/** One line of the audit log. */
export function recordLine(facts: AuditFacts, event: AuditEvent | OwnEvent): Buffer {
  const { event: name, ...rest } = event;
  const hidden = 'argv' in rest ? { ...rest, argv: rest.argv.map(withoutCredentials) } : rest;
  return Buffer.from(`${JSON.stringify({ time: new Date().toISOString(), event: name, ...facts, ...hidden })}\n`);
}

/** Credentials are whole words, or stand in a word such as `Authorization: Bearer …` or `--token=…`. */
function withoutCredentials(word: string): string {
  if (isOwnCredential(word)) return HIDDEN;
  return word.replace(TOKEN_LIKE, (text) => (isOwnCredential(text) ? HIDDEN : text));
}

const HIDDEN = '[a credential of this server]';

/** What may be a bearer token or a key inside a longer word. Shorter texts are no secrets. */
const TOKEN_LIKE = /[\w.~+/-]{16,}=*/g;
