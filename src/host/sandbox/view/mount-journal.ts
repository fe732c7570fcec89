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
import { look } from './disk.ts';
import { isRemoved } from './mount-point.ts';
import { isProtectedName } from './protected-names.ts';

/** Where a user's servers note what they have put on the disk. */
export const journalFolder = (env: NodeJS.ProcessEnv): string => join(stateFolder(env), 'mount-points');

/** Notes mount points on the disk, so that those of a server that died without a word can be taken away by the next. */
export class MountJournal {
  readonly #file: string;
  readonly #folder: string;
  readonly #onFault: (error: unknown) => void;
  #written = false;

  /** `onFault` is told why the journal cannot be taken away, which concerns no sandbox. */
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
      // Each on a line that it begins: a path that was cut off spoils no other.
      appendFileSync(this.#file, paths.map((path) => `\n${JSON.stringify(path)}`).join(''), { mode: 0o600 });
      this.#written = true;
    } catch {
      // Nothing can be written there, so there is no journal: a crash may leave empty directories behind.
    }
  }

  #prepare(): void {
    if (isOurs(this.#folder)) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (!isOurs(this.#folder)) throw new Error(`${this.#folder} belongs to others`);
  }

  /** No mount point is left. */
  clear(): void {
    if (this.#written) remove(this.#file, this.#onFault);
    this.#written = false;
  }
}

const isOurDirectory = (found: Stats): boolean =>
  found.isDirectory() && found.uid === process.geteuid!() && (found.mode & 0o022) === 0;

/** Not where others may write, who could lead our writing and removing elsewhere. */
function isOurs(folder: string): boolean {
  try {
    return [dirname(folder), folder].map((path) => lstatSync(path)).every(isOurDirectory);
  } catch {
    return false; // missing, or out of our sight
  }
}

/**
 * Removes the mount points of dead servers. Only empty directories with the names we cover: a forged journal can do no harm.
 */
export function sweepMountPoints(folder: string, onFault: (error: unknown) => void = () => {}): void {
  if (!isOurs(folder)) return;
  const here = currentProcess();
  for (const name of namesIn(folder)) {
    if (!isOver(name, here)) continue;
    const kept = pathsIn(join(folder, name)).filter((path) => !isDealtWith(path));
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

/** False when it cannot be removed now but perhaps later. */
function isDealtWith(path: string): boolean {
  if (!isProtectedName(path)) return true;
  const found = look(path);
  return !found?.isDirectory() || isRemoved(path, found); // gone already, or something else has taken its place
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
    return []; // no server has had anything to note
  }
}

interface ProcessName {
  readonly boot: string;
  /** Its namespace of process ids: those of another container are out of sight, not dead. */
  readonly namespace: string;
  readonly pid: string;
  readonly started: string;
}

/** What `nameOf` gives, and the number of the journal. */
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

function isOver(name: string, here: ProcessName): boolean {
  const [boot, namespace, pid = '', started] = name.split('.');
  if (boot !== here.boot) return true;
  return namespace === here.namespace && startTimeOf(pid) !== started;
}

/** In ticks since the machine was started. */
function startTimeOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined; // no such process
  }
}
