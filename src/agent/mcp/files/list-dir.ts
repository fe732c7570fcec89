import * as z from 'zod/mini';
import { limits } from '../limits.ts';
import type { Tool, ToolListing } from '../tool.ts';
import {
  countArgument,
  parseArguments,
  pathArgument,
  pathSchema,
  permissionArguments,
  readSchema,
} from './arguments.ts';
import { listDirectory } from './listing.ts';
import type { Workspace } from './workspace.ts';

const name = 'list_dir';

const argumentsOf = z.object({
  path: z.optional(pathArgument),
  depth: z.optional(countArgument),
  limit: z.optional(countArgument),
  ...permissionArguments,
});

const definition: ToolListing = {
  name,
  description: 'Lists a directory, and the directories in it down to a depth. Names of directories end with a slash.',
  inputSchema: readSchema(
    {
      path: { ...pathSchema, description: `${pathSchema.description} Default: the working directory.` },
      depth: {
        type: 'number',
        description: `1 (the default) lists the directory alone; at most ${limits.depthListed}.`,
      },
      limit: { type: 'number', description: `How many entries to list; default and maximum ${limits.entriesListed}.` },
    },
    [],
  ),
  outputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string' },
      entries: { type: 'array', items: { type: 'string' } },
      truncated: { type: 'boolean', description: 'There are more entries than these.' },
    },
    required: ['path', 'entries', 'truncated'],
  },
  annotations: { title: 'List a directory', readOnlyHint: true, openWorldHint: false },
};

export function listDirTool(workspace: Workspace): Tool {
  return {
    definition,
    async call(args, call) {
      const parsed = parseArguments(name, argumentsOf, args);
      const { path = '.', depth = 1, limit = limits.entriesListed, ...permissions } = parsed;
      const at = workspace.resolve(path);
      const { entries, truncated } = await workspace.read(
        {
          failure: `cannot list ${at}`,
          argv: [name, at],
          permissions,
          run: ({ files, ...options }) => listDirectory(files, at, { depth, limit, ...options }),
        },
        call,
      );
      const more = truncated ? [`(more entries follow; list a directory below ${at}, or use exec_command)`] : [];
      const text = [...(entries.length === 0 ? ['(empty)'] : entries), ...more].join('\n');
      return { text, success: true, structured: { path: at, entries, truncated } };
    },
  };
}
