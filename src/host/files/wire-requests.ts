import type { FileMethod, Params, PathUri, Sandbox } from '../../protocol/index.ts';
import { type FileRequest, fileFlags } from '../engine/index.ts';

/** Methods that are one request to the engine; the others are about a handle or a watch. */
export type PlainFileMethod = Exclude<
  FileMethod,
  | 'fs/open'
  | 'fs/readBlock'
  | 'fs/writeBlock'
  | 'fs/close'
  | 'fs/watch'
  | 'fs/unwatch'
  | 'fs/watchMissing'
  | 'fs/search'
  | 'fs/searchCancel'
>;

interface WireRequest extends FileRequest {
  readonly paths: readonly PathUri[];
  readonly mode: 'read' | 'write';
  readonly sandbox: Sandbox | null | undefined;
}

type Translations = { readonly [M in PlainFileMethod]: (params: Params<M>) => WireRequest };

const flag = (name: keyof typeof fileFlags, set: boolean): number => (set ? fileFlags[name] : 0);
const noFollow = (followSymlinks: boolean | null | undefined): number => flag('noFollow', followSymlinks === false);

/** What each method asks of the engine. Absent options have the value they would have on the wire. */
export const wireRequests: Translations = {
  'fs/readFile': ({ path, followSymlinks, sandbox }) => ({
    operation: 'readFile',
    mode: 'read',
    paths: [path],
    flags: noFollow(followSymlinks),
    sandbox,
  }),
  'fs/writeFile': ({ path, dataBase64, followSymlinks, sandbox }) => ({
    operation: 'writeFile',
    mode: 'write',
    paths: [path],
    flags: noFollow(followSymlinks),
    payload: dataBase64,
    sandbox,
  }),
  'fs/createDirectory': ({ path, recursive, followSymlinks, sandbox }) => ({
    operation: 'createDirectory',
    mode: 'write',
    paths: [path],
    flags: flag('recursive', recursive ?? true) | noFollow(followSymlinks),
    sandbox,
  }),
  'fs/getMetadata': ({ path, followSymlinks, identity, link, sandbox }) => ({
    operation: 'getMetadata',
    mode: 'read',
    paths: [path],
    flags: noFollow(followSymlinks) | flag('identity', identity ?? false) | flag('links', link ?? false),
    sandbox,
  }),
  'fs/canonicalize': ({ path, sandbox }) => ({ operation: 'canonicalize', mode: 'read', paths: [path], sandbox }),
  'fs/readDirectory': ({ path, links, sandbox }) => ({
    operation: 'readDirectory',
    mode: 'read',
    paths: [path],
    flags: flag('links', links ?? false),
    sandbox,
  }),
  'fs/walk': ({ path, options, sandbox }) => ({
    operation: 'walk',
    mode: 'read',
    paths: [path],
    flags:
      flag('followDirectories', options.followDirectorySymlinks) |
      flag('pruneHidden', options.pruneHiddenDirectories ?? false),
    numbers: [options.maxDepth, options.maxDirectories, options.maxEntries],
    sandbox,
  }),
  'fs/remove': ({ path, recursive, force, followSymlinks, sandbox }) => ({
    operation: 'remove',
    mode: 'write',
    paths: [path],
    flags: flag('recursive', recursive ?? true) | flag('force', force ?? true) | noFollow(followSymlinks),
    sandbox,
  }),
  'fs/copy': ({ sourcePath, destinationPath, recursive, sandbox }) => ({
    operation: 'copy',
    mode: 'write',
    paths: [sourcePath, destinationPath],
    flags: flag('recursive', recursive),
    sandbox,
  }),
  'fs/rename': ({ sourcePath, destinationPath, overwrite, sandbox }) => ({
    operation: 'rename',
    mode: 'write',
    paths: [sourcePath, destinationPath],
    flags: flag('replace', overwrite ?? false),
    sandbox,
  }),
  'fs/setPermissions': ({ path, mode, followSymlinks, sandbox }) => ({
    operation: 'setPermissions',
    mode: 'write',
    paths: [path],
    flags: noFollow(followSymlinks),
    numbers: [mode],
    sandbox,
  }),
};

export function isPlainFileMethod(method: string): method is PlainFileMethod {
  return Object.hasOwn(wireRequests, method);
}
