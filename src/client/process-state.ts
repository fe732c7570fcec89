import type { Denial } from '../protocol/index.ts';
import type { ProcessEvent } from './process-event.ts';

/**
 * running ──exited──▶ exited ──closed──▶ closed
 *
 * A process that can no longer be followed (session lost, output lost) becomes `failed` from `running` and `exited`; a closed
 * process cannot fail any more.
 */
export type ProcessState =
  | { readonly phase: 'running' }
  | {
      readonly phase: 'exited' | 'closed';
      readonly exitCode: number;
      readonly sandboxDenied: boolean;
      readonly denials?: readonly Denial[];
    }
  | { readonly phase: 'failed'; readonly failure: Error };

export function nextProcessState(state: ProcessState, event: ProcessEvent): ProcessState {
  if (event.type === 'output') return state;
  if (state.phase === 'running' && event.type === 'exited') {
    const { exitCode, sandboxDenied = false, denials } = event;
    return { phase: 'exited', exitCode, sandboxDenied, ...(denials && { denials }) };
  }
  if (state.phase === 'exited' && event.type === 'closed') return { ...state, phase: 'closed' };
  throw new Error(`process cannot handle ${event.type} while ${state.phase}`);
}

/** Whether no further event of the process can come. */
export function isOver(state: ProcessState): state is ProcessState & { phase: 'closed' | 'failed' } {
  return state.phase === 'closed' || state.phase === 'failed';
}
