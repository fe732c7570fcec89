import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A number of seconds no other `sleep` on this machine is asked for, so that its process can be found by it. */
export const uniqueSeconds = (): string => `4242.${randomInt(1e12)}`;

/** Living processes that have the text as one of their arguments. */
export function processesWith(argument: string): number[] {
  return pids().filter((pid) => isAlive(pid) && argumentsOf(pid).includes(argument));
}

/** Resolves when that many processes with the argument live, with their ids. */
export async function appeared(argument: string, count = 1): Promise<number[]> {
  let found: number[] = [];
  await eventually(`${count} processes with ${argument}`, () => {
    found = processesWith(argument);
    return found.length >= count;
  });
  return found;
}

/** Resolves when none of the processes lives. */
export async function gone(processes: number | readonly number[]): Promise<void> {
  for (const pid of [processes].flat()) await eventually(`the end of process ${pid}`, () => !isAlive(pid));
}

/** The kernel has no event for what others' processes do, so this looks again and again. */
export async function eventually(what: string, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await delay(5);
  }
}

/** Less than any test may take, so that the reason of a failure is told. */
const PATIENCE_MS = 30_000;

/** Whether the process exists and is no zombie. */
export function isAlive(pid: number): boolean {
  const state = stateOf(pid);
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** The one-letter state of a process, such as S for sleeping and T for stopped. */
export function stateOf(pid: number): string | undefined {
  const stat = readProc(pid, 'stat');
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2)[0];
}

/** Direct children, living or not yet reaped. */
export function childrenOf(parent: number): { pid: number; state: string }[] {
  return pids().flatMap((pid) => {
    const stat = readProc(pid, 'stat');
    const [state = '', ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(ppid) === parent ? [{ pid, state }] : [];
  });
}

/** Living processes whose working directory is in a folder, as far as we may look. */
export function workingIn(folder: string): number[] {
  return pids().filter((pid) => {
    try {
      const directory = readlinkSync(`/proc/${pid}/cwd`);
      return (directory === folder || directory.startsWith(`${folder}/`)) && isAlive(pid);
    } catch {
      return false; // it has just ended, or is somebody else's
    }
  });
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readProc(pid, 'status'))?.[1]) / 1024;
}

/** The largest resident size since the process began. */
export function peakMiB(pid: number): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(readProc(pid, 'status'))?.[1]) / 1024;
}

export function argumentsOf(pid: number): string[] {
  return readProc(pid, 'cmdline').split('\0');
}

export function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** A file of a process in /proc; nothing when the process has ended. */
export function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // it has just ended
  }
}
