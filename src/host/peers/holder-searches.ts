import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { once } from '../../base/index.ts';
import { peerSockets } from '../os/index.ts';

/** Bits of native/peers/peers.h. */
export const heldBy = { held: 1, sandbox: 2, family: 4, elsewhere: 8, suspect: 16, froze: 32 } as const;

/** One search of /proc that is yet to begin, and the sockets it looks for. */
interface Search {
  readonly inodes: bigint[];
  everyone: boolean;
  readonly holders: Promise<Uint32Array>;
}

/** Searches /proc for the processes that hold sockets, one search at a time, with a rest after each. */
export class HolderSearches {
  #last: Promise<unknown> = Promise.resolve();
  #next: Search | undefined;

  /**
   * The bits of what holds a socket. Connections that arrive during a search share the next one; there are no more of them
   * than a listener takes.
   */
  async search(inode: bigint, everyone: boolean): Promise<number> {
    this.#next ??= this.#plan();
    const index = this.#next.inodes.push(inode) - 1;
    this.#next.everyone ||= everyone;
    return (await this.#next.holders)[index]!;
  }

  #plan(): Search {
    const inodes: bigint[] = [];
    const holders = this.#last.then(async () => {
      await nextTurn(); // connections that were accepted together ask together
      this.#next = undefined;
      return peerSockets.holders(inodes, search.everyone);
    });
    const search: Search = { inodes, everyone: false, holders };
    this.#last = this.#last.then(() => restAfter(holders));
    return search;
  }
}

/** Those of this process: were there more, there would be no rest between the searches of one and those of another. */
export const holderSearches = once(() => new HolderSearches());

/**
 * The next search begins a while after the last has ended, so that more of the connections that come at once share it, and
 * sandboxes that were stopped for one run meanwhile: a command that hides cannot stop the others for good.
 */
async function restAfter(holders: Promise<Uint32Array>): Promise<void> {
  const began = performance.now();
  const found = await holders.catch(() => undefined); // the callers see the failure
  const share = found?.some((each) => each & heldBy.froze) ? REST_AFTER.frozen : REST_AFTER.running;
  await setTimeout(share * (performance.now() - began), undefined, { ref: false });
}

/** How much longer than a search the rest is. Without one, opening 200 connections takes 331 ms instead of 292. */
const REST_AFTER = { frozen: 3, running: 1 };
