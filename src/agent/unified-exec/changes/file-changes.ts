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

/** What all calls that change files share. */
type Terms = Pick<ToolContext, 'orchestrator' | 'patches'>;

export interface PermittedOutcome extends PatchOutcome {
  /** Who refused it, if anybody did. */
  readonly rejection?: RejectionKind;
}

/** Applies a patch, whichever way it came: it is verified first, then policy and user are heard, then all of it is written. */
export async function applyPermittedPatch(
  command: PatchCommand,
  call: ChangeCall,
  terms: Terms,
  context: CallContext,
): Promise<PermittedOutcome> {
  try {
    const files = await call.backend.fileSystem();
    return await applyPatchCommand(command, files, call.cwd, optionsOf(call, terms, context));
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const why = error.kind === 'user' ? ' by user' : `: ${error.message}`;
    return { text: `patch rejected${why}`, success: false, files: [], rejection: error.kind };
  }
}

/** Writes a whole file on the terms of a patch. Throws an `ExecError`, `Rejected` or `Cancelled`. */
export async function writePermittedFile(
  path: string,
  content: string,
  call: ChangeCall,
  terms: Terms,
  context: CallContext,
): Promise<void> {
  try {
    const files = await call.backend.fileSystem();
    await changeFiles([{ kind: 'add', path, content }], files, call.cwd, optionsOf(call, terms, context));
  } catch (error) {
    if (error instanceof CommitError && error.rollBackFailure) {
      const { cause, rollBackFailure } = error;
      const rest = `what was there could not be put back: ${rollBackFailure.message}`;
      throw new ExecError(cause.kind, `${cause.message}; ${rest}`);
    }
    throw error instanceof CommitError || error instanceof PatchError ? (error.cause ?? error) : error;
  }
}

function optionsOf(call: ChangeCall, { orchestrator, patches: turns }: Terms, context: CallContext): ChangeOptions {
  return {
    sandbox: sandboxFor(call.settings, call.cwd),
    signal: context.signal,
    permit: (changes) => permitChanges(changes, call, orchestrator, context),
    turns,
  };
}
