import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from '../../../base/index.ts';
import { hasAttribute } from '../../os/index.ts';
import type { ExceededLimit, ResourceLimits } from './limit-names.ts';

/** The controllers that the limits need. */
const controllerOf = { memoryBytes: 'memory', cpus: 'cpu', pids: 'pids' } as const;
export type GroupLimit = keyof typeof controllerOf;

/** A place where the server may make control groups; or the reason why it may not. */
export type GroupPlace =
  | { readonly place: ControlGroups; readonly reason?: undefined }
  | { readonly place?: undefined; readonly reason: string };

/** The server's own group, looked for at the first start with limits. */
export const controlGroups = once(() => findPlace());

/** Makes a control group (cgroup v2) for each process with limits, below the group that was delegated to the server. */
export class ControlGroups {
  readonly #folder: string;
  readonly #controllers: ReadonlySet<string>;
  #made = 0;
  /** Groups whose process has closed and that still have others. */
  readonly #left = new Set<ControlGroup>();
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: string, controllers: ReadonlySet<string>) {
    this.#folder = folder;
    this.#controllers = controllers;
    this.#removeOld();
  }

  can(limit: GroupLimit): boolean {
    return this.#controllers.has(controllerOf[limit]);
  }

  create(limits: Pick<ResourceLimits, GroupLimit>): ControlGroup {
    return new ControlGroup(join(this.#folder, `${PREFIX}${process.pid}-${++this.#made}`), limits);
  }

  /** Removes a group now, or when its last process has ended. */
  removeWhenEmpty(group: ControlGroup): void {
    if (group.remove()) return;
    this.#left.add(group);
    this.#timer ??= this.#removeLater();
  }

  #removeLater(): NodeJS.Timeout {
    return setTimeout(() => {
      for (const group of this.#left) if (group.remove()) this.#left.delete(group);
      this.#timer = this.#left.size > 0 ? this.#removeLater() : undefined;
    }, REMOVE_EVERY_MS).unref();
  }

  /** Groups of servers that were killed. One that still has processes, or belongs to a server that lives, stays. */
  #removeOld(): void {
    for (const name of readdirSync(this.#folder)) {
      const [, pid] = OWN_NAME.exec(name) ?? [];
      if (pid !== undefined && !lives(Number(pid))) quietly(() => rmdirSync(join(this.#folder, name)));
    }
  }
}

/** The control group of one process and all its descendants. */
export class ControlGroup {
  readonly #folder: string;
  /** Its open `cgroup.procs`. */
  readonly #procs: number;

  constructor(folder: string, { memoryBytes, cpus, pids }: Pick<ResourceLimits, GroupLimit>) {
    this.#folder = folder;
    mkdirSync(folder);
    try {
      if (memoryBytes != null) {
        this.#write('memory.max', memoryBytes);
        quietly(() => this.#write('memory.swap.max', 0)); // missing where the kernel has no swap
        this.#write('memory.oom.group', 1);
      }
      if (cpus != null) this.#write('cpu.max', `${Math.max(1000, Math.round(cpus * PERIOD_US))} ${PERIOD_US}`);
      if (pids != null) this.#write('pids.max', pids);
      this.#procs = openSync(join(folder, 'cgroup.procs'), 'w');
    } catch (error) {
      quietly(() => rmdirSync(folder));
      throw error;
    }
  }

  /** A descriptor by which a process joins. */
  get procs(): number {
    return this.#procs;
  }

  /** To be called when the process has joined, or could not be started. */
  joined(): void {
    closeSync(this.#procs);
  }

  /** What the kernel has counted: a group that was out of memory, a fork that was refused. */
  get exceeded(): ExceededLimit | undefined {
    if (this.#counted('memory.events', 'oom_kill') > 0) return 'memory';
    return this.#counted('pids.events', 'max') > 0 ? 'pids' : undefined;
  }

  /** Kills what is in it, whatever it has done to its family mark. */
  kill(): void {
    quietly(() => this.#write('cgroup.kill', 1));
  }

  /** False while it has processes. */
  remove(): boolean {
    try {
      rmdirSync(this.#folder);
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT';
    }
  }

  #write(file: string, value: number | string): void {
    writeFileSync(join(this.#folder, file), String(value));
  }

  #counted(file: string, name: string): number {
    try {
      const text = readFileSync(join(this.#folder, file), 'latin1');
      return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    } catch {
      return 0; // without this limit there is no such file
    }
  }
}

const PREFIX = 'exec-server-';
const OWN_NAME = /^exec-server-(\d+)-\d+$/;
/** The group into which the server moves itself: one with controllers must have no processes of its own. */
const OWN_GROUP = 'exec-server';
const PERIOD_US = 100_000;
const REMOVE_EVERY_MS = 5000;

export interface CgroupFiles {
  /** What /proc/self has to tell: `cgroup` and `mountinfo`. */
  readonly self: (file: 'cgroup' | 'mountinfo') => string;
  readonly isDelegated: (folder: string) => boolean;
}

const thisProcess = (): CgroupFiles => ({
  self: (file) => readFileSync(`/proc/self/${file}`, 'latin1'),
  isDelegated,
});

/** Looks for the server's own group, and prepares it if it is delegated. Touches no other group. */
export function findPlace(files: CgroupFiles = thisProcess()): GroupPlace {
  try {
    const own = ownFolder(files);
    if (own === undefined) return { reason: 'there is no cgroup v2' };
    const offered = new Set(readFileSync(join(own, 'cgroup.controllers'), 'latin1').trim().split(' '));
    const wanted = Object.values(controllerOf).filter((name) => offered.has(name));
    if (wanted.length === 0) return { reason: `the cgroup of the server, ${own}, has no controllers` };
    if (!files.isDelegated(own)) return { reason: `the cgroup ${own} is not delegated to the server` };
    const isReady = wanted.every((name) => words(join(own, 'cgroup.subtree_control')).includes(name));
    if (!isReady) {
      moveOwnProcesses(own);
      writeFileSync(join(own, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '));
    }
    return { place: new ControlGroups(own, new Set(wanted)) };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function ownFolder({ self }: CgroupFiles): string | undefined {
  const path = /^0::(\/.*)$/m.exec(self('cgroup'))?.[1];
  const [, root, point] = /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(self('mountinfo')) ?? [];
  if (path === undefined || root === undefined || point === undefined) return undefined;
  const below = root === '/' ? path : path.startsWith(root) ? path.slice(root.length) : undefined;
  if (below === undefined) return undefined;
  // A server that has moved itself before, or was started so, is in a group of its own below the delegated one.
  return join(point, below.endsWith(`/${OWN_GROUP}`) ? below.slice(0, -OWN_GROUP.length - 1) : below);
}

/**
 * To a user by being its own; to root by systemd (`Delegate=yes`), or as the root of a container. The root of the machine has no
 * `cgroup.events`.
 */
function isDelegated(folder: string): boolean {
  const uid = process.getuid?.();
  if (uid !== 0) return statSync(folder).uid === uid;
  if (hasAttribute(folder, 'user.delegate') || hasAttribute(folder, 'trusted.delegate')) return true;
  return readFileSync('/proc/self/cgroup', 'latin1').includes('0::/\n') && exists(join(folder, 'cgroup.events'));
}

/** Moves the server and what it has started to a group below; refuses if there are others. */
function moveOwnProcesses(folder: string): void {
  const leaf = join(folder, OWN_GROUP);
  if (!exists(leaf)) mkdirSync(leaf);
  for (const pid of words(join(folder, 'cgroup.procs')).map(Number)) {
    if (!isOwn(pid)) throw new Error(`the cgroup ${folder} has other processes than the server's`);
    writeFileSync(join(leaf, 'cgroup.procs'), String(pid));
  }
}

function isOwn(pid: number): boolean {
  for (let at = pid; at > 1; at = parentOf(at)) if (at === process.pid) return true;
  return pid === process.pid;
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0);
  } catch {
    return 0; // it has ended
  }
}

const words = (path: string): string[] => readFileSync(path, 'latin1').split(/\s+/).filter(Boolean);
const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
const lives = (pid: number): boolean => exists(`/proc/${pid}`);

/** What fails here has been done by others, or is done again later. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // see above
  }
}
