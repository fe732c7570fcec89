import { ANY_SERVER_MASK, familyMark, SERVER_MASK } from './family-mark.ts';

/** The upper parts of the marks of all servers for which this process has started children; a handful at most. */
const servers = new Set<bigint>();

/** Notes the mark of a child of this process. */
export function noteOwnFamily(mark: bigint): void {
  if (mark !== 0n) servers.add(mark & SERVER_MASK);
}

/** Mark and mask for the servers of this product, then for each server in this process. */
export function searchedMarks(): BigUint64Array {
  return BigUint64Array.from([
    familyMark(0, 0, 0),
    ANY_SERVER_MASK,
    ...[...servers].flatMap((mark) => [mark, SERVER_MASK]),
  ]);
}
