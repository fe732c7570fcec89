import { addon } from './addon.ts';
import { PROCESS_MASK } from './family-mark.ts';
import { familySweeps } from './family-sweeps.ts';

/** Kills every living process whose mark matches, and everything in the sandboxes of such marks; resolves with their number. */
export async function killFamily(mark: bigint, mask: bigint): Promise<number> {
  return await familySweeps().kill(mark, mask);
}

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
  return familySweeps().remember(mark, space, forgotten);
}

/** The marks of all processes in sight that agree with a mark in the bits of a mask. */
export function marksInUse(mark: bigint, mask = PROCESS_MASK): readonly bigint[] {
  return [...addon().marks(mark, mask)];
}
