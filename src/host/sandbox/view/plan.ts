import { posix } from 'node:path';
import { type Access, type AccessPolicy, accessOf } from '../policy/resolution.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import { DiskFacts } from './disk-facts.ts';
import { isProtectedName } from './protected-names.ts';
import { isBelow, ViewRules, type ViewRulesOptions } from './rules.ts';

/** The view of the disk that a policy permits, as arguments of bubblewrap. */
export interface MountPlan {
  readonly args: readonly string[];
  /** How many empty descriptors the arguments refer to, from `firstEmpty` on. */
  readonly emptyFiles: number;
  /** The paths that have to be created on the disk because something is mounted on a missing path. */
  readonly mountPoints: readonly string[];
  /** Paths that are not covered: the program that runs in the view must refuse to create or change them. */
  readonly refused: readonly string[];
  /** Mounts that must be found in the view before anything runs there: commands may replace directories while it is built. */
  readonly mounts: readonly Mount[];
  /** Directories of procfs with files that root may write: read-only where the view has a procfs of its own. */
  readonly procDirectories: readonly string[];
  /** The real path of the first program, if commands can execute it there and cannot change it. */
  readonly visibleProgram: string | undefined;
}

/** A mount point, as a real path, and device and inode of the mounted directory or file: `-` for any. */
export interface Mount {
  readonly path: string;
  readonly pin: string;
}

const SHARED_MEMORY = ['--bind-try', '/dev/shm', '/dev/shm'];

const DEVICES: Readonly<Record<'usual' | 'null', readonly string[]>> = {
  usual: ['--dev', '/dev'],
  null: ['--perms', '555', '--tmpfs', '/dev', '--dev-bind', '/dev/null', '/dev/null'],
};

/** Empty on most machines, and not mounted then, as a mount takes 0.2 ms; a kernel module may fill them at any time. */
const PROC_DIRECTORIES = ['/proc/acpi', '/proc/scsi'];

export interface MountPlanOptions extends ViewRulesOptions {
  /** The first of the empty descriptors. */
  readonly firstEmpty: number;
  /** Answers questions about the disk, and records them. */
  readonly facts?: DiskFacts;
  /** The usual devices, or `/dev/null` alone. */
  readonly devices?: 'usual' | 'null';
  /**
   * What happens to a missing path that must stay missing: it is covered, for which a mount point is made on the disk, or
   * the program in the view has to refuse it, which only programs of this package do.
   */
  readonly missing?: 'cover' | 'refuse';
  /** The file of the program that is to run in the view first. */
  readonly program?: string | undefined;
}

export function planMounts(policy: AccessPolicy, options: MountPlanOptions): MountPlan {
  const { facts = new DiskFacts() } = options;
  return new Planner(new ViewRules(policy, facts, options), facts, options).plan();
}

interface Node {
  readonly path: string;
  readonly access: Access;
  readonly children: Node[];
}

class Planner {
  readonly #args: string[] = [];
  /** Paths that are missing, or may be the mount points of other sandboxes, and must not be created or changed. */
  readonly #untouchable: string[] = [];
  readonly #covered = new Set<string>();
  readonly #mounts: Mount[] = [];
  readonly #access: ReadonlyMap<string, Access>;
  readonly #links: ReadonlyMap<string, string>;
  readonly #masked: ReadonlySet<string>;
  readonly #firstEmpty: number;
  readonly #disk: DiskFacts;
  readonly #devices: readonly string[];
  readonly #missing: 'cover' | 'refuse';
  readonly #program: string | undefined;
  #emptyFiles = 0;

  constructor(
    rules: ViewRules,
    disk: DiskFacts,
    { firstEmpty, devices = 'usual', missing = 'cover', program }: MountPlanOptions,
  ) {
    this.#access = rules.access;
    this.#links = rules.links;
    this.#masked = rules.masked;
    this.#disk = disk;
    this.#firstEmpty = firstEmpty;
    this.#devices = DEVICES[devices];
    this.#missing = missing;
    this.#program = program;
  }

  plan(): MountPlan {
    this.#mount(treeOf(this.#access));
    // The arguments are separated by NUL, and a `.git` file may name a path that no call has checked.
    if (this.#args.some((arg) => arg.includes('\0')))
      throw new UnenforceablePolicy('a path of its view contains a NUL');
    const { refused, mountPoints } =
      this.#missing === 'refuse'
        ? { refused: this.#untouchable, mountPoints: [] }
        : { refused: [], mountPoints: this.#untouchable };
    return {
      args: this.#args,
      emptyFiles: this.#emptyFiles,
      mountPoints,
      refused,
      mounts: this.#mounts,
      procDirectories: PROC_DIRECTORIES.filter(
        (path) => this.#disk.entryAt(path) && !this.#disk.isEmptyDirectory(path),
      ),
      visibleProgram: this.#visibleProgram(),
    };
  }

  /** Every view has mounts of its own on /dev and /proc. */
  #visibleProgram(): string | undefined {
    const real = this.#program && this.#disk.realPath(this.#program);
    if (!real || accessOf(this.#access, real) !== 'read') return undefined;
    return ['/dev', '/proc'].some((own) => isBelow(real, own)) || !this.#disk.couldExecute(real) ? undefined : real;
  }

  #mount(root: Node): void {
    this.#base(root.access);
    for (const [path, target] of this.#links) {
      if (this.#isBelowLink(path)) continue;
      // Only where the link itself is not in the view, and its target is.
      if (accessOf(this.#access, path) === 'deny' && accessOf(this.#access, target) !== 'deny') {
        this.#args.push('--symlink', target, path);
      }
    }
    for (const child of root.children) this.#emit(child, root.access);
  }

  /** Whether a path leads through another link of the view, and so needs none: /bin/bash where /bin is a link. */
  #isBelowLink(path: string): boolean {
    for (let at = posix.dirname(path); at !== '/'; at = posix.dirname(at)) if (this.#links.has(at)) return true;
    return false;
  }

  #base(access: Access): void {
    if (access === 'deny') this.#args.push('--tmpfs', '/');
    else this.#args.push(access === 'write' ? '--bind' : '--ro-bind', '/', '/');
    this.#args.push(...this.#devices, ...(access === 'write' ? SHARED_MEMORY : []));
  }

  /** Mounts a directory before the paths below it, and makes a denied one read-only after everything in it is mounted. */
  #emit({ path, access, children }: Node, around: Access): void {
    let seal = false;
    if (access === 'write') this.#bind('--bind', path);
    else if (access === 'read' && around === 'write') this.#protectPath(path);
    else if (access === 'read' && around === 'deny') this.#bind('--ro-bind-try', path);
    else if (access === 'deny' && around !== 'deny') seal = this.#deny(path, around, children.length > 0);
    for (const child of children) this.#emit(child, access);
    // A masked directory may stay writable, as it is the sandbox's own memory: another mount costs 0.2 of the 9 ms of a start.
    if (seal && !this.#masked.has(path)) this.#args.push('--remount-ro', path);
  }

  #protectPath(path: string): void {
    const found = this.#disk.entryAt(path);
    const covered = isProtectedName(path) && (found === undefined || this.#disk.isEmptyDirectory(path));
    if (covered) this.#coverName(path, found === undefined);
    else if (found === undefined) this.#coverMissing(path);
    else this.#bind('--ro-bind', path);
  }

  #bind(option: '--bind' | '--ro-bind' | '--ro-bind-try', path: string): void {
    this.#args.push(option, path, path);
    const found = this.#disk.entryAt(path);
    if (found && found.kind !== 'link') this.#expect(path, found.pin);
  }

  /** Notes a mount that must be found in the view, except below /proc, where the view's own procfs covers it. */
  #expect(path: string, pin = '-'): void {
    if (!isBelow(path, '/proc')) this.#mounts.push({ path, pin });
  }

  /** Covers a protected name. An empty directory may be the mount point of another sandbox, which removes it: it is covered too. */
  #coverName(path: string, missing: boolean): void {
    if (this.#covered.has(path)) return;
    if (missing && !this.#disk.couldCreateIn(posix.dirname(path))) return; // the command cannot create it either
    this.#covered.add(path);
    this.#untouchable.push(path);
    if (this.#missing === 'refuse') return;
    this.#args.push('--perms', '555', '--tmpfs', path, '--remount-ro', path);
    this.#expect(path);
  }

  /** Mounts an empty file on the first missing part of a path, so that nothing can be created there. */
  #coverMissing(path: string): void {
    let first = path;
    while (this.#disk.entryAt(posix.dirname(first)) === undefined) first = posix.dirname(first);
    // To Git, an empty file named .git is a broken repository, and an empty directory is no repository.
    if (isProtectedName(first)) {
      this.#coverName(first, true);
      return;
    }
    if (this.#covered.has(first) || !this.#disk.couldCreateIn(posix.dirname(first))) return;
    this.#covered.add(first);
    this.#untouchable.push(first);
    if (this.#missing === 'refuse') return;
    this.#args.push('--perms', '444', '--ro-bind-data', this.#emptyFile(), first);
    this.#expect(first);
  }

  /** Hides a path; whether it has to be made read-only afterwards. */
  #deny(path: string, around: Access, reopened: boolean): boolean {
    const found = this.#disk.entryAt(path);
    if (found && found.kind !== 'link') this.#expect(path);
    if (found?.kind === 'directory') {
      this.#args.push('--perms', reopened ? '111' : '000', '--tmpfs', path);
      return true;
    }
    if (found !== undefined) this.#args.push('--perms', '000', '--ro-bind-data', this.#emptyFile(), path);
    else if (around === 'write') this.#coverMissing(path);
    return false;
  }

  #emptyFile(): string {
    return String(this.#firstEmpty + this.#emptyFiles++);
  }
}

/** The rules as a tree of directories; the root is there whether a rule names it or not. */
function treeOf(rules: ReadonlyMap<string, Access>): Node {
  const root: Node = { path: '/', access: rules.get('/') ?? 'deny', children: [] };
  const nodes = new Map<string, Node>([['/', root]]);
  for (const path of [...rules.keys()].sort()) {
    if (path === '/') continue;
    const node: Node = { path, access: rules.get(path)!, children: [] };
    let above = posix.dirname(path);
    while (!nodes.has(above)) above = posix.dirname(above);
    nodes.get(above)!.children.push(node);
    nodes.set(path, node);
  }
  return root;
}
