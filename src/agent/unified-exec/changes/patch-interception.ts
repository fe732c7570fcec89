import { type PatchCommand, PatchError, parsePatch, parsePatchCommand } from '../../patch/index.ts';
import type { CallContext, ToolContext } from '../call-context.ts';
import type { CommandPlan } from '../plan/command-plan.ts';
import { responseText } from '../report/response.ts';
import type { ToolResult } from '../report/tool-result.ts';
import { cutMiddle, lineCount } from '../report/truncation.ts';
import { applyPermittedPatch } from './file-changes.ts';

/** Applies the patch of a command that consists of one; undefined for other commands. */
export async function interceptPatch(
  plan: CommandPlan,
  toolContext: ToolContext,
  context: CallContext,
): Promise<ToolResult | undefined> {
  const command = parsePatchCommand(plan.argv);
  if (!command || !isPatch(command)) return undefined;
  const { modelOutputTokens: modelTokens } = toolContext;
  const call = { ...plan, tool: 'apply_patch', justification: plan.sandboxRequest.justification } as const;
  const outcome = await applyPermittedPatch(command, call, toolContext, context);
  const { success } = outcome;
  if (!success) return { text: outcome.text, success };
  const text = shortened(outcome.text, modelTokens);
  const output = { text, totalBytes: Buffer.byteLength(text), omittedBytes: 0 };
  return {
    text: responseText({ wallTimeMs: 0, output }, modelTokens, modelTokens),
    success,
    structured: { wall_time_seconds: 0, output: text },
  };
}

/** Cuts the list of files to the budget of an answer. Where lines are missing, a heading tells their total number. */
function shortened(text: string, modelTokens: number): string {
  const [heading, ...rest] = text.split('Output:\n');
  const list = rest.join('Output:\n');
  const cut = cutMiddle(list, modelTokens);
  const lines = lineCount(list);
  return `${heading}${lineCount(cut) === lines ? '' : `Total output lines: ${lines}\n`}Output:\n${cut}`;
}

/** Whether the argument of `apply_patch` is meant as a patch; any other command goes to the shell. */
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
