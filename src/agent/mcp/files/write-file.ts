import * as z from 'zod/mini';
import { encodeUtf8 } from '../../../base/index.ts';
import type { UnifiedExec } from '../../unified-exec/index.ts';
import type { Tool, ToolListing } from '../tool.ts';
import { changeSchema, justificationArgument, parseArguments, pathArgument, pathSchema } from './arguments.ts';
import type { Workspace } from './workspace.ts';

const name = 'write_file';

const argumentsOf = z.object({ path: pathArgument, content: z.string(), ...justificationArgument });

const definition: ToolListing = {
  name,
  description:
    'Creates a file or replaces its content. Missing directories are created. To edit a file use apply_patch.',
  inputSchema: changeSchema({ path: pathSchema, content: { type: 'string' } }, ['path', 'content']),
  outputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, bytes: { type: 'number' } },
    required: ['path', 'bytes'],
  },
  annotations: { title: 'Write a file', readOnlyHint: false, destructiveHint: true, openWorldHint: false },
};

export function writeFileTool(workspace: Workspace, unifiedExec: UnifiedExec): Tool {
  return {
    definition,
    async call(args, call) {
      const { path, content, justification } = parseArguments(name, argumentsOf, args);
      const at = workspace.resolve(path);
      await workspace.explained(`cannot write ${at}`, () =>
        unifiedExec.writeFile(at, content, { justification }, call),
      );
      const bytes = encodeUtf8(content).length;
      return { text: `Wrote ${bytes} bytes to ${at}`, success: true, structured: { path: at, bytes } };
    },
  };
}
