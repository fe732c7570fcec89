import { applyPatchCommand, type PatchCommand, PatchError, parsePatch, parsePatchCommand } from '../patch/index.ts';
import type { CommandPlan } from './command-plan.ts';
import { sandboxFor } from './permissions.ts';
import { responseText } from './response.ts';
import type { ToolResult } from './tool-result.ts';

/** Applies the patch of a command that is nothing but one; undefined for every other command. */
export async function interceptPatch(
  { argv, cwd, backend, settings }: CommandPlan,
  modelTokens: number,
  signal: AbortSignal | undefined,
): Promise<ToolResult | undefined> {
  const command = parsePatchCommand(argv);
  if (!command || !isPatch(command)) return undefined;
  const files = await backend.fileSystem();
  const { text, success } = await applyPatchCommand(command, files, cwd, {
    sandbox: sandboxFor(settings, cwd),
    signal,
  });
  if (!success) return { text, success };
  const printed = { text, totalBytes: Buffer.byteLength(text), omittedBytes: 0 };
  return {
    text: responseText({ wallTimeMs: 0, printed }, modelTokens, modelTokens),
    success,
    structured: { wall_time_seconds: 0, output: text },
  };
}

/** Words behind `apply_patch` that were never meant to be a patch are the shell's business. */
function isPatch({ text }: PatchCommand): boolean {
  if (text.includes('*** Begin Patch')) return true;
  try {
    parsePatch(text);
    return true;
  } catch (error) {
    if (error instanceof PatchError) return false;
    throw error;
  }
}
