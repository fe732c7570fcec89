import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { once } from '../../base/index.ts';
import { peerSockets } from '../os/index.ts';

/** The bits of native/peers/peers.h. */
export const heldBy = { held: 1, sandbox: 2, family: 4, elsewhere: 8, suspect: 16, froze: 32 } as const;

/** One search of /proc that has not begun yet, and the sockets it searches for. */
interface Search {
  readonly inodes: bigint[];
  /** Whether all processes are searched, and not only those in sandboxes. */
  outside: boolean;
  readonly holders: Promise<Uint32Array>;
}

/** Searches /proc for the processes that have sockets open, one search at a time. */
export class HolderSearches {
  #last: Promise<unknown> = Promise.resolve();
  #next: Search | undefined;

  /**
   * The bits about the processes that have a socket open. Connections that arrive during a search share the next one; their number
   * is bounded by that of the listeners.
   */
  async search(inode: bigint, outside: boolean): Promise<number> {
    this.#next ??= this.#plan();
    const index = this.#next.inodes.push(inode) - 1;
    this.#next.outside ||= outside;
    return (await this.#next.holders)[index]!;
  }

  #plan(): Search {
    const inodes: bigint[] = [];
    const holders = this.#last.then(async () => {
      await untilNoneArrives(inodes);
      this.#next = undefined;
      return peerSockets.holders(inodes, search.outside);
    });
    const search: Search = { inodes, outside: false, holders };
    this.#last = this.#last.then(() => pauseAfter(holders));
    return search;
  }
}

/**
 * Resolves after a turn of the event loop in which no connection has arrived. Node accepts one connection a turn, so a search that begins
 * after the first turn is shared by a few; 200 clients that connect at once caused a dozen searches. With two or three they are served
 * in 52 ms instead of 56.
 */
async function untilNoneArrives(inodes: readonly bigint[]): Promise<void> {
  const latest = performance.now() + MOST_WAIT_MS;
  for (let seen = 0; inodes.length > seen && performance.now() < latest; ) {
    seen = inodes.length;
    await nextTurn();
  }
}

/** Time to accept 300 connections: the first of them waits for the last. */
const MOST_WAIT_MS = 20;

/** One for the whole process, so that no two searches run, or stop sandboxes, at a time. */
export const holderSearches = once(() => new HolderSearches());

/**
 * Delays the next search after one that stopped sandboxes, for three times as long: a command that hides its socket cannot keep the
 * others stopped. After any other search the next one begins at once: a pause would add to the time that many connections take to
 * open (200 of them, medians of three runs: 64 ms with a pause as long as the search, 58 without).
 */
async function pauseAfter(holders: Promise<Uint32Array>): Promise<void> {
  const began = performance.now();
  const found = await holders.catch(() => undefined); // the callers of `search` get the error
  if (!found?.some((each) => each & heldBy.froze)) return;
  await setTimeout(3 * (performance.now() - began), undefined, { ref: false });
}
