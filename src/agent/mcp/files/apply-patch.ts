import * as z from 'zod/mini';
import type { UnifiedExec } from '../../unified-exec/index.ts';
import type { Tool, ToolListing } from '../tool.ts';
import { changeSchema, justificationArgument, parseArguments } from './arguments.ts';
import { isDenial, type Workspace } from './workspace.ts';

const name = 'apply_patch';

const argumentsOf = z.object({ input: z.string(), ...justificationArgument });

const definition: ToolListing = {
  name,
  description: `Edits files by a patch, which is applied completely or not at all. The patch is plain text:
*** Begin Patch
*** Update File: path/of/file
*** Move to: new/path (if the file moves)
@@ a line above the place, such as the head of the function (optional)
 a line that stays
-a line that goes
+a line that comes
*** Add File: path/of/new/file
+every line of it
*** Delete File: path/of/old/file
*** End Patch
Give about three lines that stay before and after each change. Changes of one file come in the order of its lines.`,
  inputSchema: changeSchema({ input: { type: 'string', description: 'The whole patch.' } }, ['input']),
  outputSchema: {
    type: 'object',
    properties: {
      files: {
        type: 'array',
        items: {
          type: 'object',
          properties: { kind: { type: 'string', enum: ['A', 'M', 'D'] }, path: { type: 'string' } },
          required: ['kind', 'path'],
        },
      },
    },
    required: ['files'],
  },
  annotations: { title: 'Apply a patch', readOnlyHint: false, destructiveHint: true, openWorldHint: false },
};

export function applyPatchTool(workspace: Workspace, unifiedExec: UnifiedExec): Tool {
  return {
    definition,
    async call(args, call) {
      const { input, justification } = parseArguments(name, argumentsOf, args);
      const { text, success, files, failure, rejection } = await workspace.explained('cannot apply the patch', () =>
        unifiedExec.applyPatch(input, { justification }, call),
      );
      const isForbidden = rejection === 'policy' || (failure && isDenial(failure));
      if (isForbidden) return { text: `${text}\n${workspace.permitted}`, success };
      return { text, success, structured: { files: files.map(({ kind, path }) => ({ kind, path })) } };
    },
  };
}
