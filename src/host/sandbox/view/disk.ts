import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { pathBytes, pathText } from '../../os/index.ts';

/** The status of a path, of a link itself; undefined when it is missing or out of reach. */
export function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(pathBytes(path), { throwIfNoEntry: false });
  } catch {
    return undefined; // out of reach
  }
}

/** The path without symlinks; undefined when it is missing. */
export function realPath(path: string): string | undefined {
  try {
    return pathText(realpathSync.native(pathBytes(path), 'buffer'));
  } catch {
    return undefined; // missing, or a loop of links
  }
}
