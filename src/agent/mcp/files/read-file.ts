import * as z from 'zod/mini';
import { PathUri } from '../../../protocol/index.ts';
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
import { readLines } from './lines.ts';
import type { Workspace } from './workspace.ts';

const name = 'read_file';

const argumentsOf = z.object({
  path: pathArgument,
  offset: z.optional(countArgument),
  limit: z.optional(countArgument),
  ...permissionArguments,
});

const definition: ToolListing = {
  name,
  description: 'Reads lines of a text file.',
  inputSchema: readSchema(
    {
      path: pathSchema,
      offset: { type: 'number', description: 'First line to read, counted from 1. Default 1.' },
      limit: { type: 'number', description: `How many lines to read; default and maximum ${limits.linesRead}.` },
    },
    ['path'],
  ),
  outputSchema: {
    type: 'object',
    properties: {
      content: { type: 'string' },
      first_line: { type: 'number' },
      next_line: { type: 'number', description: 'The offset of the next call; absent at the end of the file.' },
    },
    required: ['content', 'first_line'],
  },
  annotations: { title: 'Read a file', readOnlyHint: true, openWorldHint: false },
};

export function readFileTool(workspace: Workspace): Tool {
  return {
    definition,
    async call(args, call) {
      const { path, offset = 1, limit = limits.linesRead, ...permissions } = parseArguments(name, argumentsOf, args);
      const at = workspace.resolve(path);
      const { content, nextLine } = await workspace.read(
        {
          failure: `cannot read ${at}`,
          argv: [name, at],
          permissions,
          run: ({ files, ...options }) => readLines(files.read(PathUri.fromNative(at), options), offset, limit),
        },
        call,
      );
      const more = nextLine === undefined ? '' : `\n(more lines follow: go on with offset ${nextLine})\n`;
      const next = nextLine === undefined ? {} : { next_line: nextLine };
      return { text: content + more, success: true, structured: { content, first_line: offset, ...next } };
    },
  };
}
