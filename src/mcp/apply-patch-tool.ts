import * as z from 'zod/mini';
import { applyPatch } from '../patch/index.ts';
import type { Tool, ToolDefinition } from './tool.ts';
import { inputSchema, parseArguments, permissionArguments } from './tool-arguments.ts';
import { isDenial, type Workspace } from './workspace.ts';

const name = 'apply_patch';

const argumentsOf = z.object({ input: z.string(), ...permissionArguments });

const definition: ToolDefinition = {
  name,
  description: `Edits files by a patch: all of it is applied, or nothing. The patch is plain text:
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
Give about three lines that stay before and after each change. Places in one file come in their order.`,
  inputSchema: inputSchema({ input: { type: 'string', description: 'The whole patch.' } }, ['input']),
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

export function applyPatchTool(workspace: Workspace): Tool {
  return {
    definition,
    async call(args, context) {
      const { input, ...permissions } = parseArguments(name, argumentsOf, args);
      const { text, success, files, failure } = await workspace.change(
        {
          what: 'cannot apply the patch',
          argv: [name, input],
          permissions,
          run: ({ files, ...options }) =>
            applyPatch(input, files, workspace.cwd, { ...options, turns: workspace.patches }),
          isDenied: ({ failure }) => failure !== undefined && isDenial(failure),
        },
        context,
      );
      if (failure && isDenial(failure)) return { text: `${text}\n${workspace.permitted}`, success };
      return { text, success, structured: { files: files.map(({ kind, path }) => ({ kind, path })) } };
    },
  };
}
