import { readFile } from 'node:fs/promises';
import { familyCensus, type Member } from '../family-census.ts';
import type { ExceededLimit } from './limit-names.ts';

export interface WatchedFamily {
  readonly mark: bigint;
  readonly memoryBytes?: number | undefined;
  readonly pids?: number | undefined;
  /** The bubblewrap of a sandboxed command, which counts as little as the first process in its sandbox. */
  readonly launcher?: number | undefined;
  readonly onExceeded: (limit: ExceededLimit) => void;
}

/** Between two looks. What is used up and given back in between is not seen. */
export const WATCH_INTERVAL_MS = 200;

/** Looks at all watched families at once, as long as there are any, and tells of those that use more than they may. */
export class FamilyWatch {
  readonly #families = new Set<WatchedFamily & { readonly isLeft: boolean }>();
  #timer: NodeJS.Timeout | undefined;

  /** Watches a family until it has exceeded a limit, or is found empty after `leave` was called. */
  watch(family: WatchedFamily): { leave(): void } {
    const watched = { ...family, isLeft: false };
    this.#families.add(watched);
    this.#timer ??= this.#lookLater();
    return {
      leave: () => {
        watched.isLeft = true;
      },
    };
  }

  #lookLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#look(), WATCH_INTERVAL_MS).unref();
  }

  async #look(): Promise<void> {
    await Promise.all([...this.#families].map((family) => this.#lookAt(family)));
    this.#timer = this.#families.size > 0 ? this.#lookLater() : undefined;
  }

  async #lookAt(family: WatchedFamily & { readonly isLeft: boolean }): Promise<void> {
    try {
      const members = await livingMembers(family);
      const exceeded = await exceededBy(family, members);
      if (exceeded || (family.isLeft && members.length === 0)) this.#families.delete(family);
      if (exceeded) family.onExceeded(exceeded);
    } catch {
      // such as for want of a descriptor: the next look decides
    }
  }
}

/** One for the whole process, so that all sessions share looks. */
export const familyWatch = new FamilyWatch();

/** Without the processes that make the sandbox. */
async function livingMembers({ mark, launcher }: WatchedFamily): Promise<readonly Member[]> {
  const family = await familyCensus.membersOf(mark);
  return family.filter(({ pid, parent, lives }) => lives && pid !== launcher && parent !== launcher);
}

async function exceededBy(
  { memoryBytes, pids }: WatchedFamily,
  members: readonly Member[],
): Promise<ExceededLimit | undefined> {
  if (pids !== undefined && sum(members.map(({ threads }) => threads)) > pids) return 'pids';
  if (memoryBytes === undefined) return undefined;
  // Shared pages count once for each process here: no family that stays below the limit so is above it.
  if (sum(members.map(({ residentKiB, swappedKiB }) => residentKiB + swappedKiB)) * 1024 <= memoryBytes)
    return undefined;
  const shares = await Promise.all(members.map(shareOf));
  return sum(shares) * 1024 > memoryBytes ? 'memory' : undefined;
}

/** The memory of a process in KiB, with its share of pages that it shares with others; where that may not be read, with all of them. */
async function shareOf({ pid, residentKiB, swappedKiB }: Member): Promise<number> {
  try {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
    const [, share = 0] = /^Pss:\s*(\d+)/m.exec(rollup) ?? [];
    const [, swapped = 0] = /^SwapPss:\s*(\d+)/m.exec(rollup) ?? [];
    return Number(share) + Number(swapped);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? residentKiB + swappedKiB : 0; // it has ended
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
