import { ExecError } from '../../../protocol/index.ts';
import { Rejected, type RejectionKind } from '../../approval/index.ts';
import {
  applyPatchCommand,
  type ChangeOptions,
  CommitError,
  changeFiles,
  type PatchCommand,
  PatchError,
  type PatchOutcome,
} from '../../patch/index.ts';
import type { CallContext, ToolContext } from '../call-context.ts';
import { sandboxFor } from '../plan/permissions.ts';
import { type ChangeCall, permitChanges } from './change-permission.ts';

type ChangeContext = Pick<ToolContext, 'orchestrator' | 'patchMutex'>;

export interface PermittedOutcome extends PatchOutcome {
  /** Present when the changes were refused: by the user, or by policy. */
  readonly rejection?: RejectionKind;
}

/** Applies a patch: verifies it, asks policy and user, then writes all of it. */
export async function applyPermittedPatch(
  command: PatchCommand,
  call: ChangeCall,
  toolContext: ChangeContext,
  context: CallContext,
): Promise<PermittedOutcome> {
  try {
    const files = await call.backend.fileSystem();
    return await applyPatchCommand(command, files, call.cwd, optionsOf(call, toolContext, context));
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const why = error.kind === 'user' ? ' by user' : `: ${error.message}`;
    return { text: `patch rejected${why}`, success: false, files: [], rejection: error.kind };
  }
}

/** Writes a whole file, with the same approval as a patch. Throws an `ExecError`, `Rejected` or `Cancelled`. */
export async function writePermittedFile(
  path: string,
  content: string,
  call: ChangeCall,
  toolContext: ChangeContext,
  context: CallContext,
): Promise<void> {
  try {
    const files = await call.backend.fileSystem();
    await changeFiles([{ kind: 'add', path, content }], files, call.cwd, optionsOf(call, toolContext, context));
  } catch (error) {
    if (error instanceof CommitError && error.rollBackFailure) {
      const { cause, rollBackFailure } = error;
      const rest = `the earlier content could not be restored: ${rollBackFailure.message}`;
      throw new ExecError(cause.kind, `${cause.message}; ${rest}`);
    }
    throw error instanceof CommitError || error instanceof PatchError ? (error.cause ?? error) : error;
  }
}

function optionsOf(call: ChangeCall, toolContext: ChangeContext, context: CallContext): ChangeOptions {
  return {
    sandbox: sandboxFor(call.settings, call.cwd),
    signal: context.signal,
    permit: (changes) => permitChanges(changes, call, toolContext.orchestrator, context),
    mutex: toolContext.patchMutex,
  };
}
