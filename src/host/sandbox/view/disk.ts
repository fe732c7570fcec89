import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { pathBytes, pathText } from '../../os/index.ts';

/** The thing at a path, not followed; undefined when it is missing or out of our sight. */
export function look(path: string): Stats | undefined {
  try {
    return lstatSync(pathBytes(path), { throwIfNoEntry: false });
  } catch {
    return undefined; // out of our sight
  }
}

/** The path without symlinks; undefined when nothing is there. */
export function realPath(path: string): string | undefined {
  try {
    return pathText(realpathSync.native(pathBytes(path), 'buffer'));
  } catch {
    return undefined; // missing, or a loop of links
  }
}
