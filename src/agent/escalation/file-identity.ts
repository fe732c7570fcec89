import { type BigIntStats, statSync } from 'node:fs';

/** A file or directory, whatever path leads to it. */
export interface FileIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

export const identityOf = ({ dev, ino }: BigIntStats): FileIdentity => ({ device: dev, inode: ino });

export const isSame = (one: FileIdentity | undefined, other: FileIdentity | undefined): boolean =>
  one !== undefined && one.device === other?.device && one.inode === other.inode;

/** Undefined when there is no directory. */
export function directoryIdentity(path: Buffer | string): FileIdentity | undefined {
  const status = statusOf(path);
  return status?.isDirectory() ? identityOf(status) : undefined;
}

export function statusOf(path: Buffer | string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined; // gone, or not ours to see
  }
}
