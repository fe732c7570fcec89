import { posix } from 'node:path';
import { type Glob, heldDirectories, parseGlob } from '../policy/glob.ts';
import { type Access, type AccessPolicy, type AccessRule, accessOf } from '../policy/resolution.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import type { DiskFacts } from './disk-facts.ts';
import { PROTECTED_NAMES } from './protected-names.ts';

/** The directories of programs, libraries and their configuration. */
export const MINIMAL = ['/bin', '/sbin', '/usr', '/etc', '/lib', '/lib64', '/nix/store', '/run/current-system/sw'];

export interface ViewRulesOptions {
  /** The paths that the patterns of the policy match. */
  readonly deniedMatches?: readonly string[];
  /** Files that the server loads and executes in or around writable roots: never writable. */
  readonly ownFiles?: (roots: readonly string[]) => readonly string[];
  /** Files that hold the server's secrets: always denied. */
  readonly secrets?: readonly string[];
}

/** The access to each path in a view: by the rules of the policy, resolved on the disk as it is, and by those of every view. */
export class ViewRules {
  readonly #disk: DiskFacts;
  readonly #access = new Map<string, Access>();
  readonly #links = new Map<string, string>();
  readonly #masked = new Set<string>();

  constructor(policy: AccessPolicy, disk: DiskFacts, { deniedMatches = [], ownFiles, secrets = [] }: ViewRulesOptions) {
    this.#disk = disk;
    if (policy.unrestricted) this.#access.set('/', 'write'); // and no name is protected
    const minimal = policy.minimal
      ? MINIMAL.map((path): AccessRule => ({ path, access: 'read', skipMissing: true }))
      : [];
    const rules = [...policy.rules, ...minimal];
    const writable = rules.filter(({ access }) => access === 'write');
    for (const { path } of writable) this.#allowWriting(path);
    for (const { path } of writable) this.#requireUnchanged(path);
    const narrowing = rules.filter(({ access }) => access !== 'write');
    for (const rule of narrowing) this.#narrow(rule);
    const roots = [...this.#writable().keys()];
    if (!policy.unrestricted) for (const root of roots) this.#protect(root);
    for (const path of ownFiles?.(roots) ?? []) this.#makeReadOnly(path);
    for (const path of secrets) this.#mask(path);
    for (const path of [...this.#access.keys()]) this.#holdInPlace(path);
    const globs = policy.deniedGlobs.map((pattern) => parseGlob(pattern, (root) => this.#resolveLinks(root)));
    for (const path of deniedMatches) this.#denyMatch(path, globs, policy.globDepth);
  }

  /** By real path. */
  get access(): ReadonlyMap<string, Access> {
    return this.#access;
  }

  /** Paths of rules that are links, and their targets. */
  get links(): ReadonlyMap<string, string> {
    return this.#links;
  }

  /** The denied paths that hold secrets of the server. */
  get masked(): ReadonlySet<string> {
    return this.#masked;
  }

  #allowWriting(path: string): void {
    const real = this.#disk.realPath(path);
    if (real === undefined) return; // a writable root that does not exist grants nothing
    this.#access.set(real, 'write');
    if (real !== path) this.#links.set(path, real);
  }

  /** A command could have made a link where a root was missing, or replaced it: the link must not make its target writable. */
  #requireUnchanged(path: string): void {
    const real = this.#disk.realPath(path);
    if (real === undefined || this.#resolveLinks(path, 'made writable') === real) return;
    throw new UnenforceablePolicy(`${path} cannot be made writable: it was replaced while its sandbox was planned`);
  }

  #narrow({ path, access, skipMissing }: AccessRule): void {
    const pinned = this.#resolveLinks(path);
    this.#requireReachable(pinned);
    if (skipMissing && this.#disk.entryAt(pinned) === undefined) return;
    if (this.#access.get(pinned) === 'write' && access === 'read') return;
    this.#access.set(pinned, access);
    if (pinned !== path && access === 'read') this.#links.set(path, pinned);
  }

  #protect(root: string): void {
    if (this.#disk.entryAt(root)?.kind !== 'directory') return;
    for (const name of PROTECTED_NAMES) {
      const path = posix.join(root, name);
      this.#requireReachable(path);
      if (!this.#access.has(path)) this.#access.set(this.#resolveLinks(path), 'read');
    }
    this.#protectGitDirectories(posix.join(root, '.git'));
  }

  /**
   * A repository may be elsewhere: `.git` of a worktree or submodule is a file that names its directory, and that of a
   * worktree names the one it shares with others. Only writable directories are protected, so that such a file cannot show
   * what the policy hides.
   */
  #protectGitDirectories(git: string): void {
    if (this.#access.get(git) === 'write') return;
    for (const named of this.#disk.gitDirectoriesOf(git)) {
      const directory = this.#resolveLinks(named);
      if (this.#access.has(directory) || accessOf(this.#access, directory) !== 'write') continue;
      this.#requireReachable(directory);
      this.#access.set(directory, 'read');
    }
  }

  /** A path in a directory that this user may not search cannot be covered, and a command could change the directory's mode. */
  #requireReachable(path: string): void {
    const closed = this.#disk.closedDirectoryAbove(path);
    if (closed === undefined || accessOf(this.#writable(), closed) !== 'write') return;
    throw new UnenforceablePolicy(
      `${path} cannot be protected: ${closed} cannot be searched; fix: chmod u+rwx ${closed}`,
    );
  }

  /** Makes a path read-only that a rule makes writable, and removes rules that make paths below it writable. */
  #makeReadOnly(path: string): void {
    for (const [at, access] of [...this.#access]) {
      if (access === 'write' && isBelow(at, path)) this.#access.delete(at);
    }
    if (accessOf(this.#access, path) !== 'write') return;
    const pinned = this.#resolveLinks(path);
    if (pinned !== path) {
      this.#makeReadOnly(pinned);
      return;
    }
    this.#requireReachable(path);
    if (this.#disk.entryAt(path) === undefined) return;
    this.#access.set(path, 'read');
  }

  /** Hides a path and everything below it, whatever other rules say. A missing path is hidden in views that are planned later. */
  #mask(path: string): void {
    this.#requireReachable(path);
    const real = this.#disk.realPath(path);
    if (real === undefined) return;
    for (const at of [...this.#access.keys()]) if (isBelow(at, real)) this.#access.delete(at);
    if (accessOf(this.#access, real) === 'deny') return;
    this.#access.set(real, 'deny');
    this.#masked.add(real);
  }

  /**
   * The directories between a writable one and a rule below it become mounts of their own, which cannot be
   * renamed: a command could move a protected path away with them and put something else in its place.
   */
  #holdInPlace(path: string): void {
    const between: string[] = [];
    let above = posix.dirname(path);
    for (; above !== '/' && !this.#access.has(above); above = posix.dirname(above)) between.push(above);
    if (this.#access.get(above) !== 'write') return;
    for (const directory of between) {
      if (this.#disk.entryAt(directory)?.kind === 'directory') this.#access.set(directory, 'write');
    }
  }

  #denyMatch(path: string, globs: readonly Glob[], depth: number | undefined): void {
    for (const glob of globs.filter(({ expression }) => expression.test(path))) {
      for (const directory of heldDirectories(glob, path, depth)) this.#hold(directory);
    }
    this.#access.set(path, 'deny');
  }

  /** Makes a directory that commands can write to a mount of its own. */
  #hold(directory: string): void {
    if (this.#access.has(directory) || accessOf(this.#access, directory) !== 'write') return;
    if (this.#disk.entryAt(directory)?.kind === 'directory') this.#access.set(directory, 'write');
  }

  /**
   * The path without links. A link that a command could have made, or could replace later, would move the rule to another path,
   * also where another link leads to it: such a policy is refused.
   */
  #resolveLinks(path: string, intent: 'protected' | 'made writable' = 'protected'): string {
    const links = this.#disk.linksOn(path);
    const loose = links.find((link) => accessOf(this.#writable(), posix.dirname(link)) === 'write');
    if (loose !== undefined) {
      throw new UnenforceablePolicy(
        `${path} cannot be ${intent}: ${loose} is a symbolic link that commands can replace`,
      );
    }
    let at = '/';
    for (const name of path.split('/').filter((part) => part !== '')) {
      const next = posix.join(at, name);
      at = links.includes(next) ? (this.#disk.realPath(next) ?? next) : next;
    }
    return at;
  }

  #writable(): ReadonlyMap<string, Access> {
    return new Map([...this.#access].filter(([, access]) => access === 'write'));
  }
}

/** Whether a path is the other one or lies below it. */
export const isBelow = (path: string, other: string): boolean => path === other || path.startsWith(`${other}/`);
