import { readdir, readlink } from 'node:fs/promises';
import { familyCensus } from '../family-census.ts';
import type { ManagedProcess } from '../managed-process.ts';

/** A process of a session that holds a socket, and the command that it descends from. */
export interface SocketHolder {
  readonly processId: string;
  readonly pid: number;
  readonly program: string;
}

/** Which of these processes and their descendants hold sockets, by inode. Of several that share one it is the first in /proc. */
export async function socketHolders(
  processes: readonly ManagedProcess[],
  inodes: ReadonlySet<number>,
): Promise<Map<number, SocketHolder>> {
  const holders = new Map<number, SocketHolder>();
  if (inodes.size === 0) return holders;
  for (const { processId, mark } of processes) {
    for (const { pid, name } of await familyCensus.membersOf(mark)) {
      for (const inode of await socketsOf(pid)) {
        if (inodes.has(inode) && !holders.has(inode)) holders.set(inode, { processId, pid, program: name });
      }
    }
  }
  return holders;
}

async function socketsOf(pid: number): Promise<number[]> {
  const folder = `/proc/${pid}/fd`;
  try {
    const links = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => ''))); // closed meanwhile
    return links.flatMap((link) => Number(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? Number.NaN)).filter(Number.isInteger);
  } catch {
    return []; // it has ended, or belongs to another user
  }
}
