import { posix } from 'node:path';
import { type Access, accessOf, type Policy, type Rule } from './policy.ts';
import { Refusal } from './refusal.ts';
import { Survey } from './survey.ts';

/** The view of the disk a policy asks for, in the words of bubblewrap. */
export interface MountPlan {
  readonly args: readonly string[];
  /** How many descriptors with nothing to read the arguments count on, from `firstEmpty` on. */
  readonly emptyFiles: number;
  /** What bubblewrap creates on the disk where something missing has to be covered. */
  readonly mountPoints: readonly string[];
}

const SHARED_MEMORY = ['--bind-try', '/dev/shm', '/dev/shm'];

const DEVICES: Readonly<Record<'usual' | 'null', readonly string[]>> = {
  usual: ['--dev', '/dev'],
  null: ['--perms', '555', '--tmpfs', '/dev', '--dev-bind', '/dev/null', '/dev/null'],
};

/** The disk as it is, where only other namespaces are wanted. */
export const HOST_VIEW: MountPlan = {
  args: ['--bind', '/', '/', ...DEVICES.usual, ...SHARED_MEMORY],
  emptyFiles: 0,
  mountPoints: [],
};

/** Stay read-only directly under every writable root, there or not: what is in them is acted upon by other programs. */
export const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.aws'] as const;

/** Where programs and libraries live, and what they need to be told. */
const MINIMAL = ['/bin', '/sbin', '/usr', '/etc', '/lib', '/lib64', '/nix/store', '/run/current-system/sw'];

export interface PlanOptions {
  /** The first of the descriptors that have nothing to read. */
  readonly firstEmpty: number;
  /** What the patterns of the policy match. */
  readonly deniedMatches?: readonly string[];
  /** Where answers about the disk come from, and are kept. */
  readonly survey?: Survey;
  /** The devices programs count on, or just the one that swallows everything. */
  readonly devices?: 'usual' | 'null';
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
  readonly #mountPoints: string[] = [];
  readonly #covered = new Set<string>();
  readonly #rules = new Map<string, Access>();
  readonly #links = new Map<string, string>();
  readonly #firstEmpty: number;
  readonly #disk: Survey;
  readonly #devices: readonly string[];
  #emptyFiles = 0;

  constructor({ firstEmpty, survey = new Survey(), devices = 'usual' }: PlanOptions) {
    this.#firstEmpty = firstEmpty;
    this.#disk = survey;
    this.#devices = DEVICES[devices];
  }

  plan(policy: Policy, deniedMatches: readonly string[]): MountPlan {
    const minimal = policy.minimal ? MINIMAL.map((path): Rule => ({ path, access: 'read', skipMissing: true })) : [];
    const rules = [...policy.rules, ...minimal];
    const writable = rules.filter(({ access }) => access === 'write');
    for (const { path } of writable) this.#allowWriting(path);
    const narrowing = rules.filter(({ access }) => access !== 'write');
    for (const rule of narrowing) this.#narrow(rule);
    for (const root of [...this.#rules].filter(([, access]) => access === 'write').map(([path]) => path)) {
      this.#protect(root);
    }
    for (const path of [...this.#rules.keys()]) this.#holdInPlace(path);
    for (const path of deniedMatches) this.#rules.set(path, 'deny');
    this.#mount(treeOf(this.#rules));
    // The list is told apart by NUL, and a file may lead to a path that nobody has looked at.
    if (this.#args.some((arg) => arg.includes('\0'))) throw new Refusal('a path of its view holds a NUL');
    return { args: this.#args, emptyFiles: this.#emptyFiles, mountPoints: this.#mountPoints };
  }

  #allowWriting(path: string): void {
    const real = this.#disk.realPath(path);
    if (real === undefined) return; // a writable root that does not exist grants nothing
    this.#rules.set(real, 'write');
    if (real !== path) this.#links.set(path, real);
  }

  #narrow({ path, access, skipMissing }: Rule): void {
    const pinned = this.#pin(path);
    if (skipMissing && this.#disk.look(pinned) === undefined) return;
    if (this.#rules.get(pinned) === 'write' && access === 'read') return;
    this.#rules.set(pinned, access);
    if (pinned !== path && access === 'read') this.#links.set(path, pinned);
  }

  #protect(root: string): void {
    if (this.#disk.look(root)?.kind !== 'directory') return;
    for (const name of PROTECTED_NAMES) {
      const path = posix.join(root, name);
      if (this.#rules.has(path)) continue;
      this.#rules.set(this.#pin(path), 'read');
      const gitDirectory = name === '.git' ? this.#disk.gitDirectoryOf(path) : undefined;
      if (gitDirectory !== undefined && !this.#rules.has(gitDirectory)) {
        this.#rules.set(this.#pin(gitDirectory), 'read');
      }
    }
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

  /** The path without links. A link that a command could replace later would move the rule: such a policy is refused. */
  #pin(path: string): string {
    let at = '/';
    for (const name of path.split('/').filter((part) => part !== '')) {
      const next = posix.join(at, name);
      const found = this.#disk.look(next);
      if (found?.kind === 'link') {
        if (accessOf(this.#writable(), at) === 'write') {
          throw new Refusal(`${path} cannot be protected: ${next} is a symbolic link that commands can replace`);
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
    if (access === 'write') this.#args.push('--bind', path, path);
    else if (access === 'read' && around === 'write') this.#protectPath(path);
    else if (access === 'read' && around === 'deny') this.#args.push('--ro-bind-try', path, path);
    else if (access === 'deny' && around !== 'deny') seal = this.#deny(path, around, children.length > 0);
    for (const child of children) this.#emit(child, access);
    if (seal) this.#args.push('--remount-ro', path);
  }

  #protectPath(path: string): void {
    const found = this.#disk.look(path);
    const covered = isProtectedName(path) && (found === undefined || this.#disk.isEmptyDirectory(path));
    if (covered) this.#coverName(path, found === undefined);
    else if (found === undefined) this.#coverMissing(path);
    else this.#args.push('--ro-bind', path, path);
  }

  /** An empty directory may be the mount point of another sandbox, and go when that one ends: it is covered as well. */
  #coverName(path: string, missing: boolean): void {
    if (missing && !this.#disk.couldCreateIn(posix.dirname(path))) return; // then the command cannot create it either
    this.#mountPoints.push(path);
    this.#args.push('--perms', '555', '--tmpfs', path, '--remount-ro', path);
  }

  /** Something empty takes the place of the first missing part of a path, so that nothing can be created there. */
  #coverMissing(path: string): void {
    let first = path;
    while (this.#disk.look(posix.dirname(first)) === undefined) first = posix.dirname(first);
    if (this.#covered.has(first) || !this.#disk.couldCreateIn(posix.dirname(first))) return;
    this.#covered.add(first);
    this.#mountPoints.push(first);
    this.#args.push('--perms', '444', '--ro-bind-data', this.#emptyFile(), first);
  }

  /** Hides a path; whether it has to be sealed afterwards. */
  #deny(path: string, around: Access, reopened: boolean): boolean {
    const found = this.#disk.look(path);
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

const isProtectedName = (path: string): boolean =>
  (PROTECTED_NAMES as readonly string[]).includes(posix.basename(path));

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
