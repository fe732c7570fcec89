import * as z from 'zod/mini';
import { limits } from './limits.ts';
import { sandbox } from './sandbox.ts';
import { method, optional, pathUri, unsigned } from './schema.ts';

const family = 'filesystem';
const scope = 'files';
const capability = 'fsSearch';

const searchId = z
  .string()
  .check(z.refine((id) => id.length > 0 && id.length <= limits.searchIdLength, 'must have 1 to 64 characters'));

/** Of a pattern: NUL ends it in the engine, and stands in no text file. */
const pattern = z.string().check(z.refine((text) => text !== '' && !text.includes('\0'), 'must be text without NUL'));

const most = (limit: number) =>
  optional(
    z
      .number()
      .check(
        z.refine((count) => Number.isInteger(count) && count >= 1 && count <= limit, `must be between 1 and ${limit}`),
      ),
  );

const content = z
  .object({
    /** Text that a line must contain. */
    literal: optional(pattern),
    /** A POSIX extended regular expression that must match in a line (docs/client.md). */
    regex: optional(pattern),
    caseInsensitive: optional(z.boolean()),
  })
  .check(
    z.refine(
      ({ literal, regex }) => (literal == null) !== (regex == null),
      'content must have either `literal` or `regex`',
    ),
  );

/** What a search finds: an entry with its kind, or a line of a file with its number. */
const match = z.object({
  path: pathUri,
  /** Of an entry that was found by its name alone. */
  kind: z.optional(z.enum(['directory', 'file', 'link', 'other'])),
  /** From 1. */
  line: z.optional(unsigned),
  /** Where the leftmost match in the line begins, in bytes from 1; absent if working it out would take too long. */
  column: z.optional(unsigned),
  /** The line, what is not UTF-8 replaced; of a long one the part around the match. */
  text: z.optional(z.string()),
  /** The bytes of the line that are not in `text`. */
  cut: z.optional(z.object({ before: unsigned, after: unsigned })),
});

/** Searching a tree, by name and by content. */
export const searchMethods = {
  'fs/search': method({
    family,
    scope,
    capability,
    repeatable: true,
    params: z
      .object({
        /** With an id the search can be cancelled. */
        searchId: optional(searchId),
        path: pathUri,
        sandbox: optional(sandbox),
        /** A glob for names; one with a slash is compared with the path below `path`. */
        name: optional(pattern),
        content: optional(content),
        /** Leave out what `.gitignore` files say, and `.git`. */
        gitignore: optional(z.boolean()),
        /** Also entries whose names begin with a dot. */
        hidden: optional(z.boolean()),
        maxMatches: most(limits.searchMatches),
        maxMatchesPerFile: most(limits.searchMatches),
        /** Larger files are not searched. */
        maxFileBytes: optional(unsigned),
      })
      .check(
        z.refine(({ name, content }) => name != null || content != null, 'fs/search needs `name`, `content` or both'),
      ),
    result: z.object({
      /** In the order of the walk: depth first, the names of a directory by their bytes. */
      matches: z.array(match),
      /** Whether a limit ended the search, so that there may be more. */
      truncated: z.boolean(),
      /** Whether it was cancelled; the matches are those found before. */
      cancelled: z.boolean(),
      filesSearched: unsigned,
      skipped: z.object({ binary: unsigned, unreadable: unsigned, tooLarge: unsigned }),
      /** The first of those that could not be read. */
      errors: z.array(z.object({ path: pathUri, message: z.string() })),
    }),
  }),
  'fs/searchCancel': method({
    family,
    scope,
    capability,
    repeatable: true,
    params: z.object({ searchId }),
    /** False if no such search is running. */
    result: z.object({ cancelled: z.boolean() }),
  }),
};
