import * as z from 'zod/mini';
import { ExecError } from './errors.ts';
import { sandbox } from './sandbox.ts';
import { base64, bytes, method, optional, pathUri, unsigned } from './schema.ts';

const family = 'filesystem';
const done = z.object({});
const target = { path: pathUri, sandbox: optional(sandbox) };
const followSymlinks = optional(z.boolean());

export const readFile = method({
  family,
  params: z.object({ ...target, followSymlinks }),
  result: z.object({ dataBase64: bytes }),
});

/** Unlike elsewhere, text that is no base64 makes the request invalid, not its parameters. */
const content = base64(
  ({ message }) => new ExecError('invalidRequest', `fs/writeFile requires valid base64 dataBase64: ${message}`),
);

export const writeFile = method({
  family,
  params: z.object({ ...target, dataBase64: content, followSymlinks }),
  result: done,
});

export const createDirectory = method({
  family,
  params: z.object({ ...target, recursive: optional(z.boolean()), followSymlinks }),
  result: done,
});

export const getMetadata = method({
  family,
  params: z.object({
    ...target,
    followSymlinks,
    /** Ours (capability `cwdIdentity`): tell which file it is. */
    identity: optional(z.boolean()),
  }),
  result: z.object({
    isDirectory: z.boolean(),
    isFile: z.boolean(),
    isSymlink: z.boolean(),
    size: unsigned,
    createdAtMs: z.number(),
    modifiedAtMs: z.number(),
    /** Ours: device and inode of what the path leads to, for those who ask. */
    identity: z.optional(z.string()),
  }),
});

export const canonicalize = method({ family, params: z.object(target), result: z.object({ path: pathUri }) });

export const readDirectory = method({
  family,
  params: z.object(target),
  result: z.object({
    entries: z.array(z.object({ fileName: z.string(), isDirectory: z.boolean(), isFile: z.boolean() })),
  }),
});

export const walk = method({
  family,
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
});

export const remove = method({
  family,
  params: z.object({ ...target, recursive: optional(z.boolean()), force: optional(z.boolean()), followSymlinks }),
  result: done,
});

export const copy = method({
  family,
  params: z.object({
    sourcePath: pathUri,
    destinationPath: pathUri,
    recursive: z.boolean(),
    sandbox: optional(sandbox),
  }),
  result: done,
});

const handleId = z.string();

export const open = method({
  family,
  params: z.object({ handleId, ...target, mode: optional(z.enum(['read', 'replace'])) }),
  result: z.object({ handleId }),
});

export const readBlock = method({
  family,
  params: z.object({ handleId, offset: unsigned, len: unsigned }),
  result: z.object({ chunk: bytes, eof: z.boolean() }),
});

export const writeBlock = method({
  family,
  params: z.object({ handleId, offset: unsigned, chunk: bytes }),
  result: done,
});

export const close = method({ family, params: z.object({ handleId }), result: done });

export const watchMissing = method({
  family,
  params: z.object({ watchId: unsigned, missing: z.array(pathUri), present: optional(pathUri) }),
  result: z.object({ watching: z.boolean() }),
});

export const missingChanged = z.object({ watchId: unsigned });
