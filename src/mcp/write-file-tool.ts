import { posix } from 'node:path';
import * as z from 'zod/mini';
import { encodeUtf8 } from '../base/index.ts';
import { PathUri } from '../protocol/index.ts';
import type { Tool, ToolDefinition } from './tool.ts';
import { inputSchema, parseArguments, pathArgument, pathSchema, permissionArguments } from './tool-arguments.ts';
import type { Workspace } from './workspace.ts';

const name = 'write_file';

const argumentsOf = z.object({ path: pathArgument, content: z.string(), ...permissionArguments });

const definition: ToolDefinition = {
  name,
  description:
    'Creates a file or replaces what is in it. Missing directories are made. To edit a file use apply_patch.',
  inputSchema: inputSchema({ path: pathSchema, content: { type: 'string' } }, ['path', 'content']),
  outputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, bytes: { type: 'number' } },
    required: ['path', 'bytes'],
  },
  annotations: { title: 'Write a file', readOnlyHint: false, destructiveHint: true, openWorldHint: false },
};

export function writeFileTool(workspace: Workspace): Tool {
  return {
    definition,
    async call(args, context) {
      const { path, content, ...permissions } = parseArguments(name, argumentsOf, args);
      const at = workspace.resolve(path);
      const bytes = encodeUtf8(content);
      await workspace.change(
        {
          what: `cannot write ${at}`,
          argv: [name, at],
          permissions,
          run: async ({ files, ...options }) => {
            await files.createDirectory(PathUri.fromNative(posix.dirname(at)), options);
            await files.writeFile(PathUri.fromNative(at), bytes, options);
          },
        },
        context,
      );
      const structured = { path: at, bytes: bytes.length };
      return { text: `Wrote ${bytes.length} bytes to ${at}`, success: true, structured };
    },
  };
}
