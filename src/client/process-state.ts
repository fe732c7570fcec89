import type { Denial } from '../protocol/index.ts';
import type { ProcessEvent } from './process-event.ts';

/** How a process ended. */
export interface ProcessExit {
  readonly exitCode: number;
  readonly sandboxDenied: boolean;
  /** The accesses that its sandbox denied; known if the client asked with `sandboxDenials` and the server has the capability. */
  readonly denials?: readonly Denial[];
  /** The signal that ended it, such as `SIGKILL`. */
  readonly signal?: string;
  /** Whether its `timeoutMs` was over before it exited. */
  readonly timedOut?: boolean;
  /** The limit that it or a descendant has exceeded. */
  readonly limitExceeded?: 'memory' | 'pids' | 'fileBytes';
}

/**
 * running ──exited──▶ exited ──closed──▶ closed
 *
 * A process that can no longer be followed (session lost, output lost) becomes `failed` from `running` and `exited`; a closed
 * process cannot fail any more.
 */
export type ProcessState =
  | { readonly phase: 'running' }
  | ({ readonly phase: 'exited' | 'closed' } & ProcessExit)
  | { readonly phase: 'failed'; readonly failure: Error };

export function nextProcessState(state: ProcessState, event: ProcessEvent): ProcessState {
  if (event.type === 'output') return state;
  if (state.phase === 'running' && event.type === 'exited') {
    const { exitCode, sandboxDenied = false, denials, signal, timedOut, limitExceeded } = event;
    return {
      phase: 'exited',
      exitCode,
      sandboxDenied,
      ...(denials && { denials }),
      ...(signal !== undefined && { signal }),
      ...(timedOut !== undefined && { timedOut }),
      ...(limitExceeded !== undefined && { limitExceeded }),
    };
  }
  if (state.phase === 'exited' && event.type === 'closed') return { ...state, phase: 'closed' };
  throw new Error(`process cannot handle ${event.type} while ${state.phase}`);
}

/** Whether no further event of the process can come. */
export function isOver(state: ProcessState): state is ProcessState & { phase: 'closed' | 'failed' } {
  return state.phase === 'closed' || state.phase === 'failed';
}
