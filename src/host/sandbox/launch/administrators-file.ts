import { readFileSync, type Stats, statSync } from 'node:fs';

/** The users of this process's user namespace, and the uid that stands for all others. */
export interface KnownUsers {
  /** The text of `/proc/self/uid_map`. */
  readonly map: string;
  readonly overflow: number;
}

/** Whether `path` is a file that only the administrator of the machine could have changed. */
export function isAdministratorsFile(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status?.isFile() === true && onlyAdministratorWrites(status, knownUsers());
}

/**
 * Root's, or, in a user namespace that does not know the machine's root (a rootless container), a file of an owner from
 * outside: no process of the namespace can become that owner.
 */
export function onlyAdministratorWrites({ uid, mode }: Pick<Stats, 'uid' | 'mode'>, users: KnownUsers): boolean {
  return (mode & 0o022) === 0 && (uid === 0 || (uid === users.overflow && !isMapped(uid, users.map)));
}

/** Each line of a map is: first number inside, first number outside, how many. */
function isMapped(uid: number, map: string): boolean {
  const ranges = map.trim().split('\n');
  return ranges.some((range) => {
    const [inside, , count] = range.trim().split(/\s+/).map(Number);
    return inside !== undefined && count !== undefined && uid >= inside && uid < inside + count;
  });
}

function knownUsers(): KnownUsers {
  const overflow = Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'));
  return { map: readFileSync('/proc/self/uid_map', 'utf8'), overflow };
}
