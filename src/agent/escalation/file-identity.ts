import { type BigIntStats, statSync } from 'node:fs';

/** Identifies a file or directory independently of the path that leads to it. */
export interface FileIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

export const identityOf = ({ dev, ino }: BigIntStats): FileIdentity => ({ device: dev, inode: ino });

export const isSame = (one: FileIdentity | undefined, other: FileIdentity | undefined): boolean =>
  one !== undefined && one.device === other?.device && one.inode === other.inode;

/** The identity of the directory at a path; undefined when there is none. */
export function directoryIdentity(path: Buffer | string): FileIdentity | undefined {
  const status = statusOf(path);
  return status?.isDirectory() ? identityOf(status) : undefined;
}

export function statusOf(path: Buffer | string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined; // missing, or not accessible
  }
}
