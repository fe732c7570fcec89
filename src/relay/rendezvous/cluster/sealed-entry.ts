import { environmentToken } from '../api/identifiers.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import type { Registration } from './directory.ts';

/** The entry of an environment in the directory that all nodes share. */
export interface EnvironmentEntry {
  readonly environmentId: string;
  /** The time of the change, or one more than the version before it, whichever is larger. */
  readonly version: number;
  /** Null once it is removed. */
  readonly registration: Registration | null;
}

/**
 * Signs entries with the cluster's secret. The signature covers the key of the entry, so a copy under another key is invalid.
 */
export class EntrySeal {
  readonly #keys: SigningKeys;

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  seal(key: string, entry: EnvironmentEntry): string {
    const text = JSON.stringify(entry);
    return JSON.stringify({ kid: this.#keys.kid, signature: this.#keys.sign(['directory', key, text]), entry: text });
  }

  /** Undefined for a text that no node wrote for this key. */
  open(key: string, sealed: string): EnvironmentEntry | undefined {
    const { kid, signature, entry } = membersOf(sealed);
    if (typeof kid !== 'string' || typeof signature !== 'string' || typeof entry !== 'string') return undefined;
    if (!this.#keys.verify(['directory', key, entry], kid, signature)) return undefined;
    const opened = JSON.parse(entry) as EnvironmentEntry; // a node wrote it, so the shape is trusted
    return environmentToken(opened.environmentId) === key ? opened : undefined;
  }
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // not JSON, so no node wrote it
  }
}
