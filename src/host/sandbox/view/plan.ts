import { posix } from 'node:path';
import { type Glob, heldDirectories, splitGlob } from '../policy/glob.ts';
import { type Access, accessOf, type Policy, type Rule } from '../policy/resolution.ts';
import { Refusal } from '../refusal.ts';
import { DiskFacts } from './disk-facts.ts';

/** The view of the disk a policy asks for, in the words of bubblewrap. */
export interface MountPlan {
  readonly args: readonly string[];
  /** How many descriptors with nothing to read the arguments count on, from `firstEmpty` on. */
  readonly emptyFiles: number;
  /** What bubblewrap creates on the disk where something missing has to be covered. */
  readonly mountPoints: readonly string[];
  /** What is not covered: the program that runs in the view must refuse to create or change it. */
  readonly refused: readonly string[];
  /** What must be found in the view before anything runs there: commands may replace directories while it is built. */
  readonly mounts: readonly Mount[];
  /** Directories of procfs that hold files of the machine's administrator: read-only where the view has a procfs of its own. */
  readonly procDirectories: readonly string[];
  /** The first program, if commands find it at its own path, may execute it and cannot change it. */
  readonly visibleProgram: string | undefined;
}

/** A path that something is mounted on, without links, and what that is by device and inode: `-` for anything. */
export interface Mount {
  readonly path: string;
  readonly pin: string;
}

const SHARED_MEMORY = ['--bind-try', '/dev/shm', '/dev/shm'];

const DEVICES: Readonly<Record<'usual' | 'null', readonly string[]>> = {
  usual: ['--dev', '/dev'],
  null: ['--perms', '555', '--tmpfs', '/dev', '--dev-bind', '/dev/null', '/dev/null'],
};

/** Stay read-only directly under every writable root, there or not: what is in them is acted upon by other programs. */
export const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.aws'] as const;

/** Empty on most machines, and then left alone, as a mount takes 0.2 ms; a module may fill them at any time. */
const PROC_DIRECTORIES = ['/proc/acpi', '/proc/scsi'];

/** Where programs and libraries live, and what they need to be told. */
export const MINIMAL = ['/bin', '/sbin', '/usr', '/etc', '/lib', '/lib64', '/nix/store', '/run/current-system/sw'];

export interface PlanOptions {
  /** The first of the descriptors that have nothing to read. */
  readonly firstEmpty: number;
  /** What the patterns of the policy match. */
  readonly deniedMatches?: readonly string[];
  /** Where answers about the disk come from, and are kept. */
  readonly facts?: DiskFacts;
  /** The devices programs count on, or just the one that swallows everything. */
  readonly devices?: 'usual' | 'null';
  /**
   * What happens to a missing path that must stay missing: it is covered, for which a mount point appears on the disk, or
   * left to the program in the view, which must be one of ours.
   */
  readonly missing?: 'cover' | 'refuse';
  /** What the server loads and executes in or around writable roots, without links: never writable. */
  readonly ownFiles?: (roots: readonly string[]) => readonly string[];
  /** What holds the server's secrets: always denied. */
  readonly secrets?: readonly string[];
  /** The file of the program that is to run in the view first. */
  readonly program?: string | undefined;
}

export function planMounts(policy: Policy, options: PlanOptions): MountPlan {
  return new Planner(options).plan(policy, options.deniedMatches ?? []);
}

interface Node {
  readonly path: string;
  readonly access: Access;
  readonly children: Node[];
}

class Planner {
  readonly #args: string[] = [];
  /** What is missing, or may be the mount point of another sandbox, and must not be created or changed. */
  readonly #held: string[] = [];
  readonly #covered = new Set<string>();
  readonly #masked = new Set<string>();
  readonly #mounts: Mount[] = [];
  readonly #rules = new Map<string, Access>();
  readonly #links = new Map<string, string>();
  readonly #firstEmpty: number;
  readonly #disk: DiskFacts;
  readonly #devices: readonly string[];
  readonly #missing: 'cover' | 'refuse';
  readonly #ownFiles: (roots: readonly string[]) => readonly string[];
  readonly #secrets: readonly string[];
  readonly #program: string | undefined;
  #emptyFiles = 0;

  constructor({ firstEmpty, facts = new DiskFacts(), devices = 'usual', missing = 'cover', ...server }: PlanOptions) {
    this.#firstEmpty = firstEmpty;
    this.#disk = facts;
    this.#devices = DEVICES[devices];
    this.#missing = missing;
    this.#ownFiles = server.ownFiles ?? (() => []);
    this.#secrets = server.secrets ?? [];
    this.#program = server.program;
  }

  plan(policy: Policy, deniedMatches: readonly string[]): MountPlan {
    if (policy.unrestricted) this.#rules.set('/', 'write'); // and no name is protected
    const minimal = policy.minimal ? MINIMAL.map((path): Rule => ({ path, access: 'read', skipMissing: true })) : [];
    const rules = [...policy.rules, ...minimal];
    const writable = rules.filter(({ access }) => access === 'write');
    for (const { path } of writable) this.#allowWriting(path);
    for (const { path } of writable) this.#requireLasting(path);
    const narrowing = rules.filter(({ access }) => access !== 'write');
    for (const rule of narrowing) this.#narrow(rule);
    const roots = [...this.#rules].filter(([, access]) => access === 'write').map(([path]) => path);
    if (!policy.unrestricted) for (const root of roots) this.#protect(root);
    for (const path of this.#ownFiles(roots)) this.#keep(path);
    for (const path of this.#secrets) this.#mask(path);
    for (const path of [...this.#rules.keys()]) this.#holdInPlace(path);
    const globs = policy.deniedGlobs.map((pattern) => splitGlob(pattern, (root) => this.#pin(root)));
    for (const path of deniedMatches) this.#denyMatch(path, globs, policy.globDepth);
    this.#mount(treeOf(this.#rules));
    // The list is told apart by NUL, and a file may lead to a path that nobody has looked at.
    if (this.#args.some((arg) => arg.includes('\0'))) throw new Refusal('a path of its view holds a NUL');
    const { refused, mountPoints } =
      this.#missing === 'refuse' ? { refused: this.#held, mountPoints: [] } : { refused: [], mountPoints: this.#held };
    return {
      args: this.#args,
      emptyFiles: this.#emptyFiles,
      mountPoints,
      refused,
      mounts: this.#mounts,
      procDirectories: PROC_DIRECTORIES.filter((path) => this.#disk.look(path) && !this.#disk.isEmptyDirectory(path)),
      visibleProgram: this.#visibleProgram(),
    };
  }

  /** Every view has mounts of its own on /dev and /proc. */
  #visibleProgram(): string | undefined {
    const real = this.#program && this.#disk.realPath(this.#program);
    if (!real || accessOf(this.#rules, real) !== 'read') return undefined;
    return ['/dev', '/proc'].some((own) => isBelow(real, own)) || !this.#disk.couldExecute(real) ? undefined : real;
  }

  #allowWriting(path: string): void {
    const real = this.#disk.realPath(path);
    if (real === undefined) return; // a writable root that does not exist grants nothing
    this.#rules.set(real, 'write');
    if (real !== path) this.#links.set(path, real);
  }

  /** A command could have put a link where a root was missing: it opens nothing. */
  #requireLasting(path: string): void {
    const real = this.#disk.realPath(path);
    if (real === undefined || this.#pin(path, 'made writable') === real) return;
    throw new Refusal(`${path} cannot be made writable: it was replaced while its sandbox was planned`);
  }

  #narrow({ path, access, skipMissing }: Rule): void {
    const pinned = this.#pin(path);
    this.#requireSight(pinned);
    if (skipMissing && this.#disk.look(pinned) === undefined) return;
    if (this.#rules.get(pinned) === 'write' && access === 'read') return;
    this.#rules.set(pinned, access);
    if (pinned !== path && access === 'read') this.#links.set(path, pinned);
  }

  #protect(root: string): void {
    if (this.#disk.look(root)?.kind !== 'directory') return;
    for (const name of PROTECTED_NAMES) {
      const path = posix.join(root, name);
      this.#requireSight(path);
      if (!this.#rules.has(path)) this.#rules.set(this.#pin(path), 'read');
    }
    this.#protectGitDirectories(posix.join(root, '.git'));
  }

  /**
   * A repository may be elsewhere: `.git` of a worktree or submodule is a file that names its directory, and that of a
   * worktree names the one it shares with others. Only what could be written is protected, so that such a file shows
   * nothing that the policy hides.
   */
  #protectGitDirectories(git: string): void {
    if (this.#rules.get(git) === 'write') return;
    for (const named of this.#disk.gitDirectoriesOf(git)) {
      const directory = this.#pin(named);
      if (this.#rules.has(directory) || accessOf(this.#rules, directory) !== 'write') continue;
      this.#requireSight(directory);
      this.#rules.set(directory, 'read');
    }
  }

  /** What cannot be seen cannot be covered, and a command could open the directory that hides it. */
  #requireSight(path: string): void {
    const seal = this.#disk.sealAbove(path);
    if (seal === undefined || accessOf(this.#writable(), seal) !== 'write') return;
    throw new Refusal(`${path} cannot be protected: ${seal} cannot be searched; fix: chmod u+rwx ${seal}`);
  }

  /** Makes a path read-only that some rule makes writable, and what other rules would open below it. */
  #keep(path: string): void {
    for (const [at, access] of [...this.#rules]) {
      if (access === 'write' && isBelow(at, path)) this.#rules.delete(at);
    }
    if (accessOf(this.#rules, path) !== 'write') return;
    this.#requireSight(path);
    if (this.#disk.look(path) === undefined) return;
    this.#rules.set(path, 'read');
  }

  /** Hides a path and everything below it, whatever other rules say. What is missing is hidden once it is there. */
  #mask(path: string): void {
    this.#requireSight(path);
    const real = this.#disk.realPath(path);
    if (real === undefined) return;
    for (const at of [...this.#rules.keys()]) if (isBelow(at, real)) this.#rules.delete(at);
    if (accessOf(this.#rules, real) === 'deny') return;
    this.#rules.set(real, 'deny');
    this.#masked.add(real);
  }

  /**
   * The directories between a writable one and a rule below it become mounts of their own, which the kernel does not let
   * anybody rename: a command could move what is protected away with them and put something else in its place.
   */
  #holdInPlace(path: string): void {
    const between: string[] = [];
    let above = posix.dirname(path);
    for (; above !== '/' && !this.#rules.has(above); above = posix.dirname(above)) between.push(above);
    if (this.#rules.get(above) !== 'write') return;
    for (const directory of between) {
      if (this.#disk.look(directory)?.kind === 'directory') this.#rules.set(directory, 'write');
    }
  }

  #denyMatch(path: string, globs: readonly Glob[], depth: number | undefined): void {
    for (const glob of globs.filter(({ expression }) => expression.test(path))) {
      for (const directory of heldDirectories(glob, path, depth)) this.#hold(directory);
    }
    this.#rules.set(path, 'deny');
  }

  /** Makes a directory that commands can write to a mount of its own. */
  #hold(directory: string): void {
    if (this.#rules.has(directory) || accessOf(this.#rules, directory) !== 'write') return;
    if (this.#disk.look(directory)?.kind === 'directory') this.#rules.set(directory, 'write');
  }

  /**
   * The path without links. A link that a command could have made, or could replace later, moves the rule: such a
   * policy is refused.
   */
  #pin(path: string, intent: 'protected' | 'made writable' = 'protected'): string {
    let at = '/';
    for (const name of path.split('/').filter((part) => part !== '')) {
      const next = posix.join(at, name);
      const found = this.#disk.look(next);
      if (found?.kind === 'link') {
        if (accessOf(this.#writable(), at) === 'write') {
          throw new Refusal(`${path} cannot be ${intent}: ${next} is a symbolic link that commands can replace`);
        }
        at = this.#disk.realPath(next) ?? next;
      } else {
        at = next;
      }
    }
    return at;
  }

  #writable(): ReadonlyMap<string, Access> {
    return new Map([...this.#rules].filter(([, access]) => access === 'write'));
  }

  #mount(root: Node): void {
    this.#base(root.access);
    for (const [path, target] of this.#links) {
      if (this.#isBelowLink(path)) continue;
      // Only where the link itself is not in view, and what it leads to is.
      if (accessOf(this.#rules, path) === 'deny' && accessOf(this.#rules, target) !== 'deny') {
        this.#args.push('--symlink', target, path);
      }
    }
    for (const child of root.children) this.#emit(child, root.access);
  }

  /** A path that leads through another link of the view is found by it: /bin/bash where /bin is a link. */
  #isBelowLink(path: string): boolean {
    for (let at = posix.dirname(path); at !== '/'; at = posix.dirname(at)) if (this.#links.has(at)) return true;
    return false;
  }

  #base(access: Access): void {
    if (access === 'deny') this.#args.push('--tmpfs', '/');
    else this.#args.push(access === 'write' ? '--bind' : '--ro-bind', '/', '/');
    this.#args.push(...this.#devices, ...(access === 'write' ? SHARED_MEMORY : []));
  }

  /** Parents come before what lies below them, and a denied directory is sealed after everything in it is in place. */
  #emit({ path, access, children }: Node, around: Access): void {
    let seal = false;
    if (access === 'write') this.#bind('--bind', path);
    else if (access === 'read' && around === 'write') this.#protectPath(path);
    else if (access === 'read' && around === 'deny') this.#bind('--ro-bind-try', path);
    else if (access === 'deny' && around !== 'deny') seal = this.#deny(path, around, children.length > 0);
    for (const child of children) this.#emit(child, access);
    // A command that writes into a mask writes into memory of its own. Sealing one costs 0.2 of the 9 ms of a start.
    if (seal && !this.#masked.has(path)) this.#args.push('--remount-ro', path);
  }

  #protectPath(path: string): void {
    const found = this.#disk.look(path);
    const covered = isProtectedName(path) && (found === undefined || this.#disk.isEmptyDirectory(path));
    if (covered) this.#coverName(path, found === undefined);
    else if (found === undefined) this.#coverMissing(path);
    else this.#bind('--ro-bind', path);
  }

  #bind(option: '--bind' | '--ro-bind' | '--ro-bind-try', path: string): void {
    this.#args.push(option, path, path);
    const found = this.#disk.look(path);
    if (found && found.kind !== 'link') this.#expect(path, found.pin);
  }

  /** Views have a procfs of their own, which covers what is mounted there. */
  #expect(path: string, pin = '-'): void {
    if (!isBelow(path, '/proc')) this.#mounts.push({ path, pin });
  }

  /** An empty directory may be the mount point of another sandbox, and go when that one ends: it is covered as well. */
  #coverName(path: string, missing: boolean): void {
    if (this.#covered.has(path)) return;
    if (missing && !this.#disk.couldCreateIn(posix.dirname(path))) return; // then the command cannot create it either
    this.#covered.add(path);
    this.#held.push(path);
    if (this.#missing === 'refuse') return;
    this.#args.push('--perms', '555', '--tmpfs', path, '--remount-ro', path);
    this.#expect(path);
  }

  /** Something empty takes the place of the first missing part of a path, so that nothing can be created there. */
  #coverMissing(path: string): void {
    let first = path;
    while (this.#disk.look(posix.dirname(first)) === undefined) first = posix.dirname(first);
    // Git takes an empty file of this name for a broken repository, and an empty directory for none.
    if (isProtectedName(first)) {
      this.#coverName(first, true);
      return;
    }
    if (this.#covered.has(first) || !this.#disk.couldCreateIn(posix.dirname(first))) return;
    this.#covered.add(first);
    this.#held.push(first);
    if (this.#missing === 'refuse') return;
    this.#args.push('--perms', '444', '--ro-bind-data', this.#emptyFile(), first);
    this.#expect(first);
  }

  /** Hides a path; whether it has to be sealed afterwards. */
  #deny(path: string, around: Access, reopened: boolean): boolean {
    const found = this.#disk.look(path);
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

export const isProtectedName = (path: string): boolean =>
  (PROTECTED_NAMES as readonly string[]).includes(posix.basename(path));

/** Whether a path is another one, or lies in it. */
const isBelow = (path: string, other: string): boolean => path === other || path.startsWith(`${other}/`);

/** The rules by what contains what; the root is there whether a rule names it or not. */
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
