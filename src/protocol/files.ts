import * as z from 'zod/mini';
import { ExecError } from './errors.ts';
import type { MethodName, Notification, Params, Result } from './methods.ts';
import type { PathUri } from './path-uri.ts';
import { type Sandbox, sandbox } from './sandbox.ts';
import { base64, bytes, method, optional, pathUri, unsigned } from './schema.ts';

const family = 'filesystem';
const scope = 'files';
const done = z.object({});
const target = { path: pathUri, sandbox: optional(sandbox) };
const followSymlinks = optional(z.boolean());

/** Unlike elsewhere, malformed base64 makes the request invalid, not its parameters. */
const content = base64(
  ({ message }) => new ExecError('invalidRequest', `fs/writeFile requires valid base64 dataBase64: ${message}`),
);

const handleId = z.string();

/** Apart from the reference's, so that another value is refused in its words. */
const openMode = optional(z.union([z.enum(['read', 'replace']), z.literal('append')]));

/** Not set-user-ID and set-group-ID: a program that has them is made by a command. */
const permissionBits = unsigned.check(
  z.refine((mode) => mode <= 0o1777, 'must be from 0 to 1023 (0o1777): permissions and the sticky bit'),
);

/** Requests about files. */
export const fileMethods = {
  'fs/readFile': method({
    family,
    scope,
    repeatable: true,
    params: z.object({ ...target, followSymlinks }),
    result: z.object({ dataBase64: bytes }),
  }),
  'fs/writeFile': method({
    family,
    scope,
    params: z.object({ ...target, dataBase64: content, followSymlinks }),
    result: done,
  }),
  'fs/open': method({
    family,
    scope,
    extensions: [{ capability: 'fsAppend', member: 'mode', value: 'append' }],
    params: z.object({ handleId, ...target, mode: openMode }),
    result: z.object({ handleId }),
  }),
  'fs/readBlock': method({
    family,
    scope,
    params: z.object({ handleId, offset: unsigned, len: unsigned }),
    result: z.object({ chunk: bytes, eof: z.boolean() }),
  }),
  'fs/writeBlock': method({
    family,
    scope,
    params: z.object({ handleId, offset: unsigned, chunk: bytes }),
    result: done,
  }),
  'fs/close': method({ family, scope, params: z.object({ handleId }), result: done }),
  'fs/createDirectory': method({
    family,
    scope,
    params: z.object({ ...target, recursive: optional(z.boolean()), followSymlinks }),
    result: done,
  }),
  'fs/getMetadata': method({
    family,
    scope,
    repeatable: true,
    extensions: [{ capability: 'fsLinks', member: 'link', value: true }],
    params: z.object({
      ...target,
      followSymlinks,
      /** Extension (capability `cwdIdentity`): whether to answer with the identity of the file. */
      identity: optional(z.boolean()),
      /** Extension (capability `fsLinks`): of a link itself, and whose the entry is. */
      link: optional(z.boolean()),
    }),
    result: z.object({
      isDirectory: z.boolean(),
      isFile: z.boolean(),
      isSymlink: z.boolean(),
      size: unsigned,
      createdAtMs: z.number(),
      modifiedAtMs: z.number(),
      /** Extension: device and inode of the file that the path leads to, if `identity` was asked for. */
      identity: z.optional(z.string()),
      /** Extension, if `link` was asked for: permission bits with set-user-ID, set-group-ID and sticky; owner; what a link refers to. */
      mode: z.optional(unsigned),
      uid: z.optional(unsigned),
      gid: z.optional(unsigned),
      linkTarget: z.optional(pathUri),
    }),
  }),
  'fs/canonicalize': method({
    family,
    scope,
    repeatable: true,
    params: z.object(target),
    result: z.object({ path: pathUri }),
  }),
  'fs/readDirectory': method({
    family,
    scope,
    repeatable: true,
    extensions: [{ capability: 'fsLinks', member: 'links', value: true }],
    params: z.object({
      ...target,
      /** Extension (capability `fsLinks`): whether to tell links, and to list those that lead nowhere. */
      links: optional(z.boolean()),
    }),
    result: z.object({
      entries: z.array(
        z.object({
          fileName: z.string(),
          isDirectory: z.boolean(),
          isFile: z.boolean(),
          /** Extension, if `links` was asked for; the other members are about what the link leads to. */
          isSymlink: z.optional(z.boolean()),
        }),
      ),
    }),
  }),
  'fs/walk': method({
    family,
    scope,
    repeatable: true,
    params: z.object({
      ...target,
      options: z.object({
        maxDepth: unsigned,
        maxDirectories: unsigned,
        maxEntries: unsigned,
        followDirectorySymlinks: z.boolean(),
        pruneHiddenDirectories: optional(z.boolean()),
      }),
    }),
    result: z.object({
      entries: z.array(z.object({ path: pathUri, kind: z.enum(['directory', 'file']) })),
      errors: z.array(z.object({ path: pathUri, message: z.string() })),
      truncated: z.boolean(),
    }),
  }),
  'fs/remove': method({
    family,
    scope,
    params: z.object({ ...target, recursive: optional(z.boolean()), force: optional(z.boolean()), followSymlinks }),
    result: done,
  }),
  'fs/copy': method({
    family,
    scope,
    params: z.object({
      sourcePath: pathUri,
      destinationPath: pathUri,
      recursive: z.boolean(),
      sandbox: optional(sandbox),
    }),
    result: done,
  }),
  'fs/rename': method({
    family,
    scope,
    capability: 'fsRename',
    params: z.object({
      sourcePath: pathUri,
      destinationPath: pathUri,
      /** Replace the destination atomically; without it an existing destination is an error. */
      overwrite: optional(z.boolean()),
      sandbox: optional(sandbox),
    }),
    result: done,
  }),
  'fs/setPermissions': method({
    family,
    scope,
    capability: 'fsChmod',
    params: z.object({ ...target, mode: permissionBits, followSymlinks }),
    result: done,
  }),
  'fs/watch': method({
    family,
    scope,
    capability: 'fsWatch',
    repeatable: true,
    params: z.object({ watchId: z.string(), ...target, recursive: optional(z.boolean()) }),
    /** False where changes make no events: in procfs, sysfs and the like. */
    result: z.object({ watching: z.boolean() }),
  }),
  'fs/unwatch': method({
    family,
    scope,
    capability: 'fsWatch',
    repeatable: true,
    params: z.object({ watchId: z.string() }),
    result: done,
  }),
  'fs/watchMissing': method({
    family,
    scope,
    params: z.object({ watchId: unsigned, missing: z.array(pathUri), present: optional(pathUri) }),
    result: z.object({ watching: z.boolean() }),
  }),
};

export const fileNotifications = {
  'fs/missingChanged': z.object({ watchId: unsigned }),
  /** Only of watches that the client has made by `fs/watch`. */
  'fs/changed': z.object({
    watchId: z.string(),
    seq: unsigned,
    changes: z.array(
      z.object({
        path: pathUri,
        kind: z.enum(['created', 'modified', 'removed', 'renamed']),
        from: z.optional(pathUri),
      }),
    ),
    /** Changes before these are lost: what is there has to be listed anew. */
    overflow: z.optional(z.boolean()),
    /** This is the last message: the watched path is gone, or `error` says why. */
    ended: z.optional(z.boolean()),
    error: z.optional(z.string()),
  }),
};

/** Answers `fs/*` requests: a server, or this process. */
export interface FileRequests {
  request<M extends FileMethod>(
    method: M,
    params: Params<M>,
    signal?: AbortSignal,
    options?: RepeatOptions,
  ): Promise<Result<M>>;
}

export interface RepeatOptions {
  /** Whether the request may be sent again when the connection is lost before the answer; unless given, the method table says it. */
  readonly repeatable?: boolean;
}

export type FileMethod = Extract<MethodName, `fs/${string}`>;

export const isFileMethod = (name: string): name is FileMethod => name.startsWith('fs/');

export interface FileOptions {
  /** Limits the operation; without one it may use every file. */
  readonly sandbox?: Sandbox | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PathOptions extends FileOptions {
  /** False refuses every path with a symbolic link in it. */
  readonly followSymlinks?: boolean | undefined;
}

export interface MetadataOptions extends PathOptions {
  readonly identity?: boolean;
  readonly link?: boolean;
}

export type FileMetadata = Result<'fs/getMetadata'>;
export type DirectoryEntry = Result<'fs/readDirectory'>['entries'][number];
export type WalkOptions = Params<'fs/walk'>['options'];
/** Changes of a watch, in order; `overflow` tells that some before them are lost. */
export type FileChanges = Omit<Notification<'fs/changed'>, 'watchId' | 'seq'>;
export type FileChange = FileChanges['changes'][number];
export type WalkOutcome = Result<'fs/walk'>;

/** A call for each method that is complete in one request. */
export class FileCalls {
  protected readonly requests: FileRequests;

  constructor(requests: FileRequests) {
    this.requests = requests;
  }

  async readFile(path: PathUri, { signal, ...options }: PathOptions = {}): Promise<Uint8Array> {
    return (await this.requests.request('fs/readFile', { path, ...options }, signal)).dataBase64;
  }

  async writeFile(path: PathUri, bytes: Uint8Array, { signal, ...options }: PathOptions = {}): Promise<void> {
    await this.requests.request('fs/writeFile', { path, dataBase64: bytes, ...options }, signal);
  }

  /** Makes missing parents too, unless `recursive` is false. */
  async createDirectory(path: PathUri, options: PathOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    const { signal, ...rest } = options;
    await this.requests.request('fs/createDirectory', { path, ...rest }, signal);
  }

  /**
   * With `identity`, servers with the capability `cwdIdentity` add the identity of the file. With `link`, those with `fsLinks` tell of a
   * link itself, and add `mode`, `uid`, `gid` and `linkTarget`.
   */
  getMetadata(path: PathUri, options: MetadataOptions = {}): Promise<FileMetadata> {
    const { signal, ...rest } = options;
    return this.requests.request('fs/getMetadata', { path, ...rest }, signal);
  }

  async canonicalize(path: PathUri, { signal, sandbox }: FileOptions = {}): Promise<PathUri> {
    return (await this.requests.request('fs/canonicalize', { path, sandbox }, signal)).path;
  }

  /** With `links`, servers with the capability `fsLinks` add `isSymlink`, and links that lead nowhere. */
  async readDirectory(
    path: PathUri,
    options: FileOptions & { readonly links?: boolean } = {},
  ): Promise<DirectoryEntry[]> {
    const { signal, ...rest } = options;
    return (await this.requests.request('fs/readDirectory', { path, ...rest }, signal)).entries;
  }

  /** Changes the permission bits, for example to 0o755. */
  async setPermissions(path: PathUri, mode: number, { signal, ...options }: PathOptions = {}): Promise<void> {
    await this.requests.request('fs/setPermissions', { path, mode, ...options }, signal);
  }

  walk(path: PathUri, options: WalkOptions, { signal, sandbox }: FileOptions = {}): Promise<WalkOutcome> {
    return this.requests.request('fs/walk', { path, options, sandbox }, signal);
  }

  /** Removes directories with their content, unless `recursive` is false, and accepts a missing path, unless `force` is. */
  async remove(
    path: PathUri,
    options: PathOptions & { readonly recursive?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    const { signal, ...rest } = options;
    await this.requests.request('fs/remove', { path, ...rest }, signal);
  }

  async copy(
    sourcePath: PathUri,
    destinationPath: PathUri,
    options: FileOptions & { readonly recursive?: boolean } = {},
  ): Promise<void> {
    const { signal, sandbox, recursive = false } = options;
    await this.requests.request('fs/copy', { sourcePath, destinationPath, recursive, sandbox }, signal);
  }

  /** Atomic: fails across filesystems (EXDEV), and where the destination exists unless `overwrite` is set. */
  async rename(
    sourcePath: PathUri,
    destinationPath: PathUri,
    options: FileOptions & { readonly overwrite?: boolean } = {},
  ): Promise<void> {
    const { signal, ...rest } = options;
    await this.requests.request('fs/rename', { sourcePath, destinationPath, ...rest }, signal);
  }
}
