import { addon } from './addon.ts';

// A mark is a 64-bit number every process of a family carries as its limit of real-time CPU, which all descendants inherit:
// 0111, then 22 bits server, 18 bits session, 20 bits process.
const serverBits = 22;
const sessionBits = 18;
const processBits = 20;
const tag = 0b0111n;

/** Selects the family of one process. */
export const PROCESS_MASK = 0xffff_ffff_ffff_ffffn;

/** Selects the families of all processes of a session. */
export const SESSION_MASK = (PROCESS_MASK >> BigInt(processBits)) << BigInt(processBits);

/** Selects everything a server has started. */
export const SERVER_MASK = (SESSION_MASK >> BigInt(processBits + sessionBits)) << BigInt(processBits + sessionBits);

/** The mark of one process; numbers wrap around at the width of their field. */
export function familyMark(server: number, session: number, process: number): bigint {
  const upper = (tag << BigInt(serverBits)) | BigInt.asUintN(serverBits, BigInt(server));
  const middle = (upper << BigInt(sessionBits)) | BigInt.asUintN(sessionBits, BigInt(session));
  return (middle << BigInt(processBits)) | BigInt.asUintN(processBits, BigInt(process));
}

interface Sweep {
  readonly pairs: bigint[];
  readonly counts: Promise<Uint32Array>;
}

let running: Promise<unknown> = Promise.resolve();
let next: Sweep | undefined;

/**
 * Kills every living process whose mark matches; resolves with their number when they are dead.
 * Calls that arrive during a scan of /proc share the next one.
 */
export async function killFamily(mark: bigint, mask: bigint): Promise<number> {
  next ??= planSweep();
  const index = next.pairs.length / 2;
  next.pairs.push(mark, mask);
  const counts = await next.counts;
  return counts[index]!;
}

function planSweep(): Sweep {
  const pairs: bigint[] = [];
  const counts = running.then(() => {
    next = undefined;
    return addon().sweep(BigUint64Array.from(pairs));
  });
  running = counts.catch(() => undefined); // the callers see the failure
  return { pairs, counts };
}
