import { mkdirSync } from 'node:fs';
import type { Changed } from '../../support/watched-tree.ts';
import { WatchedTree } from '../../support/watched-tree.ts';
import type { WireClient } from '../../support/wire-client.ts';
import { uri } from '../sandbox/fixture.ts';

/** A directory that a client of the wire watches, and what it knows of it. */
export class WatchedFolder {
  readonly tree: WatchedTree;
  readonly watchId: string;
  readonly #client: WireClient;

  private constructor(client: WireClient, folder: string, watchId: string) {
    this.#client = client;
    this.watchId = watchId;
    this.tree = new WatchedTree(folder);
  }

  static async open(client: WireClient, folder: string, more: object = {}): Promise<WatchedFolder> {
    mkdirSync(folder, { recursive: true });
    const watched = new WatchedFolder(client, folder, `w${WatchedFolder.#count++}`);
    const params = { watchId: watched.watchId, path: uri(folder), recursive: true, ...more };
    const { watching } = await client.call<{ watching: boolean }>('fs/watch', params);
    if (!watching) throw new Error(`${folder} is not watched`);
    void watched.#follow(client);
    return watched;
  }

  /** From now on the changes come over another connection. */
  follow(client: WireClient): void {
    void this.#follow(client);
  }

  /** The last message, once it has come. */
  async ended(): Promise<Changed> {
    await this.tree.until(() => this.tree.told.at(-1)?.ended === true);
    return this.tree.told.at(-1)!;
  }

  unwatch(): Promise<unknown> {
    return this.#client.call('fs/unwatch', { watchId: this.watchId });
  }

  /** What is sent once more after a lost connection has the number that it had. */
  async #follow(client: WireClient): Promise<void> {
    const isNext = (stray: object): boolean => {
      const { method, params } = stray as { method?: string; params?: { watchId?: string; seq?: number } };
      const seq = (this.tree.told.at(-1)?.seq ?? 0) + 1;
      return method === 'fs/changed' && params?.watchId === this.watchId && params.seq === seq;
    };
    for (;;) {
      const next = await client.strayUntil(isNext).catch(() => undefined); // the connection has ended
      if (!next) return;
      this.tree.apply((next as unknown as { params: Changed }).params);
    }
  }

  static #count = 0;
}
