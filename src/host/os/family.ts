import { addon } from './addon.ts';
import { PROCESS_MASK } from './family-mark.ts';

interface Sweep {
  readonly families: Family[];
  readonly counts: Promise<Uint32Array>;
}

interface Family {
  readonly mark: bigint;
  readonly mask: bigint;
}

let running: Promise<unknown> = Promise.resolve();
let next: Sweep | undefined;
/** The scan of /proc that is going on. */
let scan: Promise<unknown> | undefined;

/**
 * Kills every living process whose mark matches, and everything in the sandboxes of such marks; resolves with their number
 * when they are dead. Calls that arrive during a scan of /proc share the next one.
 */
export async function killFamily(mark: bigint, mask: bigint): Promise<number> {
  next ??= planSweep();
  const index = next.families.push({ mark, mask }) - 1;
  const counts = await next.counts;
  return counts[index]!;
}

function planSweep(): Sweep {
  const families: Family[] = [];
  const counts = running.then(() => {
    next = undefined;
    const spaces = families.flatMap(({ mark, mask }) => spacesOf(mark, mask));
    const triples = [...families.map(({ mark, mask }) => [mark, mask, 0n]), ...spaces.map((space) => [0n, 0n, space])];
    const sweeping = addon().sweep(BigUint64Array.from(triples.flat()));
    scan = sweeping;
    return sweeping;
  });
  running = counts
    .catch(() => undefined) // the callers see the failure
    .then(() => {
      scan = undefined;
    });
  return { families, counts };
}

interface Sandbox {
  readonly mark: bigint;
  /** The inode of its pid namespace, once that is known. */
  readonly space: () => bigint | undefined;
}

const sandboxes = new Set<Sandbox>();

/**
 * Has a family found by the pid namespace of its sandbox as well, until this is disposed: a process can change its mark, and
 * cannot leave its namespace. `forgotten` is called when no scan looks for the namespace any more: until then its number must
 * not pass to another one.
 */
export function rememberSandbox(
  mark: bigint,
  space: () => bigint | undefined,
  forgotten: () => void = () => {},
): Disposable {
  const sandbox = { mark, space };
  sandboxes.add(sandbox);
  return {
    [Symbol.dispose]: () => {
      sandboxes.delete(sandbox);
      if (scan) void scan.then(forgotten, forgotten);
      else forgotten();
    },
  };
}

function spacesOf(mark: bigint, mask: bigint): bigint[] {
  const matching = [...sandboxes].filter((sandbox) => ((sandbox.mark ^ mark) & mask) === 0n);
  return matching.flatMap(({ space }) => space() ?? []).filter((space) => space !== 0n);
}

/** The marks of all processes in sight that agree with a mark in the bits of a mask. */
export function marksInUse(mark: bigint, mask = PROCESS_MASK): readonly bigint[] {
  return [...addon().marks(mark, mask)];
}
