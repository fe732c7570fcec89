import { HttpRefusal } from '../api/http-refusal.ts';
import type { Directory, DirectoryListener, Registration } from './directory.ts';

export interface LocalDirectoryOptions {
  readonly most: number;
  /** How long an environment may be offline before it is forgotten: its URL has expired by then. */
  readonly keepMs: number;
  now(): number;
}

/** Registrations in memory: they end with the process, and executors register again. */
export class LocalDirectory implements Directory {
  readonly ready = true;
  readonly #registrations = new Map<string, Registration>();
  readonly #listeners: DirectoryListener[] = [];
  readonly #options: LocalDirectoryOptions;

  constructor(options: LocalDirectoryOptions) {
    this.#options = options;
  }

  get(environmentId: string): Registration | undefined {
    return this.#registrations.get(environmentId);
  }

  list(): Iterable<Registration> {
    return this.#registrations.values();
  }

  async update(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | undefined,
  ): Promise<Registration | undefined> {
    const next = change(this.get(environmentId));
    if (next) {
      this.#makeRoom(environmentId);
      this.#registrations.set(environmentId, next);
      this.#notify(environmentId, next);
    }
    return next;
  }

  async remove(environmentId: string): Promise<boolean> {
    const existed = this.#registrations.delete(environmentId);
    if (existed) this.#notify(environmentId, undefined);
    return existed;
  }

  listen(listener: DirectoryListener): void {
    this.#listeners.push(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #makeRoom(environmentId: string): void {
    const { most, keepMs, now } = this.#options;
    if (this.#registrations.size < most || this.#registrations.has(environmentId)) return;
    for (const [id, { state, updated }] of this.#registrations) {
      if (state === 'offline' && now() - updated >= keepMs) this.#registrations.delete(id);
    }
    if (this.#registrations.size >= most)
      throw new HttpRefusal(503, 'full', `${most} environments are registered, which is the limit`);
  }

  #notify(environmentId: string, registration: Registration | undefined): void {
    for (const listener of this.#listeners) listener(environmentId, registration);
  }
}
