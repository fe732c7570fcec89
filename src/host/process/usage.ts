import { readlink, stat } from 'node:fs/promises';
import { PathUri, type Result } from '../../protocol/index.ts';
import { familyCensus, type Member } from './family-census.ts';

/** The resources of a process and its living descendants, without those of the processes that make its sandbox. */
export async function usageOf(pid: number, mark: bigint): Promise<Result<'process/stat'>> {
  const family = await familyCensus.membersOf(mark);
  const stage = firstInSandbox(family, pid);
  const command = family.find((member) => (stage ? member.parent === stage.pid : member.pid === pid));
  const inside = family.filter((member) => member.name !== STAGE && !(stage && member.pid === pid));
  const ticks = [...inside.map(({ ownTicks }) => ownTicks), ...family.map(({ reapedTicks }) => reapedTicks)];
  return {
    pid: command?.pid ?? pid,
    cwd: command ? await directoryOf(command.pid) : null,
    cpuMs: sum(ticks) * TICK_MS,
    rssBytes: sum(inside.map(({ residentKiB }) => residentKiB)) * 1024,
    descendants: inside.filter((member) => member !== command && member.lives).length,
  };
}

/** The first process of the sandbox that the process with this number makes; undefined without one, and while it is being built. */
export const firstInSandbox = (family: readonly Member[], pid: number): Member | undefined =>
  family.find(({ parent, name }) => parent === pid && name === STAGE);

/** The name of a sandbox's first process, from its path in the view (host/sandbox/launch/stage-place.ts). */
const STAGE = '.exec-server';

/** The kernel reports processor time in hundredths of a second. */
const TICK_MS = 10;

/** Null if it is unknown, or was removed. */
async function directoryOf(pid: number): Promise<PathUri | null> {
  const link = `/proc/${pid}/cwd`;
  try {
    const [path, { nlink }] = await Promise.all([readlink(link, 'buffer'), stat(link)]);
    return nlink > 0 ? PathUri.fromNative(path) : null;
  } catch {
    return null; // it has ended, or belongs to another user
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
