import * as z from 'zod/mini';
import { listDirectory, MOST_DEPTH, MOST_ENTRIES } from './list-directory.ts';
import type { Tool, ToolDefinition } from './tool.ts';
import {
  countArgument,
  lookSchema,
  parseArguments,
  pathArgument,
  pathSchema,
  permissionArguments,
} from './tool-arguments.ts';
import type { Workspace } from './workspace.ts';

const name = 'list_dir';

const argumentsOf = z.object({
  path: z.optional(pathArgument),
  depth: z.optional(countArgument),
  limit: z.optional(countArgument),
  ...permissionArguments,
});

const definition: ToolDefinition = {
  name,
  description: 'Lists a directory, and those in it down to a depth. Names of directories end with a slash.',
  inputSchema: lookSchema(
    {
      path: { ...pathSchema, description: `${pathSchema.description} The working directory unless given.` },
      depth: {
        type: 'number',
        description: `1 lists the directory alone, which is the default; at most ${MOST_DEPTH}.`,
      },
      limit: { type: 'number', description: `How many entries to list; ${MOST_ENTRIES} unless given, and never more.` },
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
    async call(args, context) {
      const parsed = parseArguments(name, argumentsOf, args);
      const { path = '.', depth = 1, limit = MOST_ENTRIES, ...permissions } = parsed;
      const at = workspace.resolve(path);
      const { entries, truncated } = await workspace.look(
        {
          what: `cannot list ${at}`,
          argv: [name, at],
          permissions,
          run: ({ files, ...options }) => listDirectory(files, at, { depth, limit, ...options }),
        },
        context,
      );
      const more = truncated ? [`(more entries follow; list a directory below ${at}, or use exec_command)`] : [];
      const text = [...(entries.length === 0 ? ['(empty)'] : entries), ...more].join('\n');
      return { text, success: true, structured: { path: at, entries, truncated } };
    },
  };
}
