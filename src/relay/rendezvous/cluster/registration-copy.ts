import type { KvEntry } from '@nats-io/kv';
import type { Logger } from '../../../base/index.ts';
import { environmentToken } from '../api/identifiers.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import type { DirectoryListener, Registration } from './directory.ts';
import { EntrySeal, type EnvironmentEntry } from './sealed-entry.ts';

/** An entry as this node has read or written it last. */
export interface KnownEntry extends EnvironmentEntry {
  /** Undefined while the bucket has no entry that this node has seen. */
  readonly revision: number | undefined;
}

export interface RegistrationCopyOptions {
  /** The secrets of the cluster: entries without their signature are ignored. */
  readonly keys: SigningKeys;
  /** How long the bucket keeps an entry that its node does not refresh. */
  readonly keepMs: number;
  readonly log: Logger;
  now(): number;
}

/**
 * This node's copy of the registrations in the bucket. Other programs may write to the bucket as well, so the copy changes only by
 * entries that a node has sealed, and never to an earlier version.
 */
export class RegistrationCopy {
  readonly #options: RegistrationCopyOptions;
  readonly #seal: EntrySeal;
  readonly #known = new Map<string, KnownEntry>();
  readonly #listeners: DirectoryListener[] = [];

  constructor(options: RegistrationCopyOptions) {
    this.#options = options;
    this.#seal = new EntrySeal(options.keys);
  }

  get(environmentId: string): Registration | undefined {
    return this.#known.get(environmentToken(environmentId))?.registration ?? undefined;
  }

  *registrations(): Iterable<Registration> {
    for (const { registration } of this.#known.values()) if (registration) yield registration;
  }

  entry(key: string): KnownEntry | undefined {
    return this.#known.get(key);
  }

  entries(): [string, KnownEntry][] {
    return [...this.#known];
  }

  listen(listener: DirectoryListener): void {
    this.#listeners.push(listener);
  }

  /** Takes an entry of the bucket. */
  apply(entry: KvEntry): void {
    const { key, operation, revision } = entry;
    const opened = operation === 'PUT' ? this.#seal.open(key, entry.string()) : undefined;
    if (opened && !this.#isExpired(opened)) this.learn(key, opened, revision);
    else this.#refuse(key, revision, operation);
  }

  learn(key: string, entry: EnvironmentEntry, revision: number): void {
    const before = this.#known.get(key);
    if (before?.revision !== undefined && before.revision >= revision) return;
    if (before && before.version > entry.version) {
      this.#refuse(key, revision, 'PUT');
      return;
    }
    this.#known.set(key, { ...entry, revision });
    if (before?.version === entry.version) return; // the same entry, written to another bucket
    this.#notify(entry.environmentId, entry.registration ?? undefined);
  }

  /** An entry that no node of this cluster wrote, or an earlier one: only its revision is noted. */
  #refuse(key: string, revision: number, operation: string): void {
    const known = this.#known.get(key);
    if (known && (known.revision ?? 0) < revision) this.#known.set(key, { ...known, revision });
    this.#options.log.warn('directory.entry_refused', { key, revision, operation });
  }

  /** The bucket is another one, with revisions of its own. */
  forgetRevisions(): void {
    for (const [key, known] of this.#known) this.#known.set(key, { ...known, revision: undefined });
  }

  /** Forgets expired entries. The bucket does not report that it drops them. */
  sweep(): void {
    for (const [key, known] of this.#known) if (this.#isExpired(known)) this.#forget(key, known);
  }

  #isExpired({ version }: EnvironmentEntry): boolean {
    return this.#options.now() - version >= this.#options.keepMs;
  }

  #forget(key: string, { environmentId, registration }: KnownEntry): void {
    this.#known.delete(key);
    if (registration) this.#notify(environmentId, undefined);
  }

  #notify(environmentId: string, registration: Registration | undefined): void {
    for (const listener of this.#listeners) listener(environmentId, registration);
  }
}
