import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { stateFolder } from '../../own/index.ts';
import { entryAt } from './disk.ts';
import { removeMountPoint } from './mount-point.ts';
import { isProtectedName } from './protected-names.ts';

/** The folder where the servers of a user note their mount points. */
export const journalFolder = (env: NodeJS.ProcessEnv): string => join(stateFolder(env), 'mount-points');

/** Notes mount points on the disk, so that the next server can remove those of a server that was killed. */
export class MountJournal {
  readonly #file: string;
  readonly #folder: string;
  readonly #onFault: (error: unknown) => void;
  #written = false;

  /** `onFault` is called when the journal cannot be removed, which concerns no sandbox. */
  constructor(folder: string, onFault: (error: unknown) => void = () => {}) {
    this.#folder = folder;
    this.#onFault = onFault;
    // A process may have several, each for mount points of its own.
    this.#file = join(folder, `${nameOf(currentProcess())}.${process.hrtime.bigint()}`);
  }

  /** To be called before the mount points are made. */
  add(paths: readonly string[]): void {
    try {
      if (!this.#written) this.#prepare();
      // Each path begins with a line feed, so that one that was cut off spoils no other.
      appendFileSync(this.#file, paths.map((path) => `\n${JSON.stringify(path)}`).join(''), { mode: 0o600 });
      this.#written = true;
    } catch {
      // Nothing can be written there, so there is no journal: a crash may leave empty directories behind.
    }
  }

  #prepare(): void {
    if (isPrivate(this.#folder)) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(this.#folder)) throw new Error(`${this.#folder} belongs to others`);
  }

  /** To be called when no mount point is left. */
  clear(): void {
    if (this.#written) remove(this.#file, this.#onFault);
    this.#written = false;
  }
}

const isPrivateDirectory = (found: Stats): boolean =>
  found.isDirectory() && found.uid === process.geteuid!() && (found.mode & 0o022) === 0;

/** Whether only this user may write to the folder and the one around it: others could replace it by a link to another folder. */
function isPrivate(folder: string): boolean {
  try {
    return [dirname(folder), folder].map((path) => lstatSync(path)).every(isPrivateDirectory);
  } catch {
    return false; // missing, or out of reach
  }
}

/**
 * Removes the mount points of dead servers. Only empty directories with protected names, so that a forged journal can do no harm.
 */
export function sweepMountPoints(folder: string, onFault: (error: unknown) => void = () => {}): void {
  if (!isPrivate(folder)) return;
  const here = currentProcess();
  for (const name of namesIn(folder)) {
    if (!isOfDeadServer(name, here)) continue;
    const kept = pathsIn(join(folder, name)).filter((path) => !sweepMountPoint(path));
    if (kept.length === 0) remove(join(folder, name), onFault);
  }
}

function remove(file: string, onFault: (error: unknown) => void): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    onFault(error);
  }
}

/** Removes a mount point of a dead server; false when it has to be tried again later. */
function sweepMountPoint(path: string): boolean {
  if (!isProtectedName(path)) return true;
  const found = entryAt(path);
  return !found?.isDirectory() || removeMountPoint(path, found); // removed already, or replaced by a file
}

function pathsIn(file: string): string[] {
  return linesOf(file).flatMap((line) => {
    try {
      return [String(JSON.parse(line))];
    } catch {
      return []; // cut off by a full disk or a crash
    }
  });
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return []; // unreadable
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => JOURNAL.test(name));
  } catch {
    return []; // no journal has been written yet
  }
}

interface ProcessName {
  readonly boot: string;
  /** Its pid namespace: the pids of another container cannot be looked up here, so its server counts as alive. */
  readonly namespace: string;
  readonly pid: string;
  readonly started: string;
}

/** The result of `nameOf`, and the number of the journal. */
const JOURNAL = /^[^.]+\.\d+\.\d+\.\d*(?:\.\d+)?$/;

const nameOf = ({ boot, namespace, pid, started }: ProcessName): string => [boot, namespace, pid, started].join('.');

function currentProcess(): ProcessName {
  return {
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    namespace: readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''),
    pid: String(process.pid),
    started: startTimeOf(String(process.pid)) ?? '',
  };
}

function isOfDeadServer(name: string, here: ProcessName): boolean {
  const [boot, namespace, pid = '', started] = name.split('.');
  if (boot !== here.boot) return true;
  return namespace === here.namespace && startTimeOf(pid) !== started;
}

/** When a process was started, in clock ticks since boot. */
function startTimeOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined; // no such process
  }
}
