import { once } from '../../base/index.ts';
import { type Addon, addon } from './addon.ts';

interface Family {
  readonly mark: bigint;
  readonly mask: bigint;
}

/** One scan of /proc that has not begun yet, and the families that it kills. */
interface Sweep {
  readonly families: Family[];
  readonly counts: Promise<Uint32Array>;
}

interface RememberedSandbox {
  readonly mark: bigint;
  /** The inode of its pid namespace; undefined until it is known. */
  readonly namespace: () => bigint | undefined;
}

/** Scans /proc for families to kill, one scan at a time: calls that arrive during a scan share the next one. */
export class FamilySweeps {
  readonly #addon: Addon;
  readonly #sandboxes = new Set<RememberedSandbox>();
  #last: Promise<unknown> = Promise.resolve();
  #next: Sweep | undefined;
  /** The scan that is under way. */
  #scan: Promise<unknown> | undefined;

  constructor(native: Addon) {
    this.#addon = native;
  }

  /**
   * Kills every living process whose mark matches, and everything in the sandboxes of such marks; resolves with their number
   * when they are dead.
   */
  async kill(mark: bigint, mask: bigint): Promise<number> {
    this.#next ??= this.#plan();
    const index = this.#next.families.push({ mark, mask }) - 1;
    const counts = await this.#next.counts;
    return counts[index]!;
  }

  /** Kills processes in the pid namespace of a sandbox, too, when its family is killed, until this is disposed. */
  remember(mark: bigint, namespace: () => bigint | undefined, forgotten: () => void): Disposable {
    const sandbox = { mark, namespace };
    this.#sandboxes.add(sandbox);
    return {
      [Symbol.dispose]: () => {
        this.#sandboxes.delete(sandbox);
        if (this.#scan) void this.#scan.then(forgotten, forgotten);
        else forgotten();
      },
    };
  }

  #plan(): Sweep {
    const families: Family[] = [];
    const counts = this.#last.then(() => {
      this.#next = undefined;
      const inodes = families.flatMap((family) => this.#namespacesOf(family));
      const marks = families.map(({ mark, mask }) => [mark, mask, 0n]);
      const namespaces = inodes.map((namespace) => [0n, 0n, namespace]);
      const scan = this.#addon.sweep(BigUint64Array.from([...marks, ...namespaces].flat()));
      this.#scan = scan;
      return scan;
    });
    this.#last = counts
      .catch(() => undefined) // the callers of `kill` get the error
      .then(() => {
        this.#scan = undefined;
      });
    return { families, counts };
  }

  #namespacesOf({ mark, mask }: Family): bigint[] {
    const matching = [...this.#sandboxes].filter((sandbox) => ((sandbox.mark ^ mark) & mask) === 0n);
    return matching.flatMap(({ namespace }) => namespace() ?? []).filter((namespace) => namespace !== 0n);
  }
}

/** One for the whole process, so that all its servers share scans. */
export const familySweeps = once(() => new FamilySweeps(addon()));
