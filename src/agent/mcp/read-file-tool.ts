import * as z from 'zod/mini';
import { PathUri } from '../../protocol/index.ts';
import { MOST_LINES, readLines } from './read-lines.ts';
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

const name = 'read_file';

const argumentsOf = z.object({
  path: pathArgument,
  offset: z.optional(countArgument),
  limit: z.optional(countArgument),
  ...permissionArguments,
});

const definition: ToolDefinition = {
  name,
  description: 'Reads lines of a text file.',
  inputSchema: lookSchema(
    {
      path: pathSchema,
      offset: { type: 'number', description: 'First line to read, counted from 1. Default 1.' },
      limit: { type: 'number', description: `How many lines to read; ${MOST_LINES} unless given, and never more.` },
    },
    ['path'],
  ),
  outputSchema: {
    type: 'object',
    properties: {
      content: { type: 'string' },
      first_line: { type: 'number' },
      next_line: { type: 'number', description: 'Where to go on; absent at the end of the file.' },
    },
    required: ['content', 'first_line'],
  },
  annotations: { title: 'Read a file', readOnlyHint: true, openWorldHint: false },
};

export function readFileTool(workspace: Workspace): Tool {
  return {
    definition,
    async call(args, context) {
      const { path, offset = 1, limit = MOST_LINES, ...permissions } = parseArguments(name, argumentsOf, args);
      const at = workspace.resolve(path);
      const { content, nextLine } = await workspace.look(
        {
          what: `cannot read ${at}`,
          argv: [name, at],
          permissions,
          run: ({ files, ...options }) => readLines(files.read(PathUri.fromNative(at), options), offset, limit),
        },
        context,
      );
      const more = nextLine === undefined ? '' : `\n(more lines follow: go on with offset ${nextLine})\n`;
      const next = nextLine === undefined ? {} : { next_line: nextLine };
      return { text: content + more, success: true, structured: { content, first_line: offset, ...next } };
    },
  };
}
