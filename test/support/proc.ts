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
export async function eventually(what: string, condition: () => boolean, pauseMs = 5): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await delay(pauseMs);
  }
}

/** Resolves when a process and all below it have nothing to do any more: for ten looks none has run, nor wanted to. */
export async function atRest(pid: number): Promise<void> {
  let idleLooks = 0;
  let spent = 0;
  await eventually(
    `rest of process ${pid}`,
    () => {
      const all = withDescendants(pid);
      const now = all.reduce((sum, each) => sum + spentBy(each), 0);
      idleLooks = now === spent && !all.some(isBusy) ? idleLooks + 1 : 0;
      spent = now;
      return idleLooks >= 10;
    },
    50,
  );
}

const withDescendants = (pid: number): number[] => [
  pid,
  ...childrenOf(pid).flatMap((child) => withDescendants(child.pid)),
];

/** Whether one of its threads runs, waits for a processor or for a disk. */
const isBusy = (pid: number): boolean =>
  threadsOf(pid).some((thread) => /^[RD]/.test(afterName(readProc(pid, `task/${thread}/stat`))));

/** The processor time that a process has had, in ticks of the kernel. */
function spentBy(pid: number): number {
  const [user = 0, system = 0] = afterName(readProc(pid, 'stat')).split(' ').slice(11, 13).map(Number);
  return user + system;
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
  return afterName(readProc(pid, 'stat'))[0];
}

/** What `stat` tells after the name of a process, which may contain anything; nothing when it has ended. */
const afterName = (stat: string): string => (stat === '' ? '' : stat.slice(stat.lastIndexOf(')') + 2));

/** Direct children, living or not yet reaped. */
export function childrenOf(parent: number): { pid: number; state: string }[] {
  return pids().flatMap((pid) => {
    const [state = '', ppid] = afterName(readProc(pid, 'stat')).split(' ');
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
      return false; // it has just ended, or belongs to another user
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

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has just ended
  }
}

/** A file of a process in /proc; nothing when the process has ended. */
export function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // it has just ended
  }
}

/** The processes that are in one of these namespaces (`net:[4026531840]`) or have a descriptor of it. */
export function holdersOf(namespaces: ReadonlySet<string>, among: readonly number[] = pids()): number[] {
  return among.filter((pid) => namespaceLinks(pid).some((link) => namespaces.has(link)));
}

function namespaceLinks(pid: number): string[] {
  const descriptors = entriesOf(`/proc/${pid}/fd`).map((fd) => `fd/${fd}`);
  return ['ns/net', ...descriptors].flatMap((file) => {
    try {
      return [readlinkSync(`/proc/${pid}/${file}`)];
    } catch {
      return []; // it has just ended, or was closed
    }
  });
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it has just ended, or belongs to another user
  }
}
