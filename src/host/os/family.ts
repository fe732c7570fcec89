import { addon } from './addon.ts';
import { PROCESS_MASK } from './family-mark.ts';
import { familySweeps } from './family-sweeps.ts';

/** Kills every living process whose mark matches, and everything in the sandboxes of such marks; resolves with their number. */
export async function killFamily(mark: bigint, mask: bigint): Promise<number> {
  return await familySweeps().kill(mark, mask);
}

/**
 * Has a family found by the pid namespace of its sandbox as well, until this is disposed: a process can change its mark, but
 * cannot leave its namespace. `forgotten` is called when no scan searches for the namespace any more: until then the kernel must
 * not give its inode to another namespace.
 */
export function rememberSandbox(
  mark: bigint,
  namespace: () => bigint | undefined,
  forgotten: () => void = () => {},
): Disposable {
  return familySweeps().remember(mark, namespace, forgotten);
}

/** The numbers of the processes with each of these marks. */
export async function familyPids(marks: readonly bigint[]): Promise<Map<bigint, number[]>> {
  const pids = new Map<bigint, number[]>(marks.map((mark) => [mark, []]));
  const pairs = await addon().members(BigUint64Array.from(marks));
  for (let at = 0; at < pairs.length; at += 2) pids.get(marks[pairs[at + 1]!]!)!.push(pairs[at]!);
  return pids;
}

/** The marks of all visible processes that agree with a mark in the bits of a mask. */
export function marksInUse(mark: bigint, mask = PROCESS_MASK): readonly bigint[] {
  return [...addon().marks(mark, mask)];
}
