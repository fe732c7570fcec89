import type { CommandAction } from '../../approval/index.ts';

/** Who started a command. */
export type ExecSource = 'agent' | 'user_shell' | 'unified_exec_startup' | 'unified_exec_interaction';

/** A command has started, or the user is asked about it. */
export interface ExecCommandBegin {
  readonly type: 'ExecCommandBegin';
  readonly call_id: string;
  /** The session number; unknown while a question is open. */
  readonly process_id?: string;
  readonly turn_id?: string;
  readonly started_at_ms: number;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly parsed_cmd: readonly CommandAction[];
  readonly source: ExecSource;
}

export interface ExecCommandOutputDelta {
  readonly type: 'ExecCommandOutputDelta';
  readonly call_id: string;
  /** All streams are mixed. */
  readonly stream: 'stdout';
  /** Base64 of the bytes. */
  readonly chunk: string;
}

/** `write_stdin` sent input, or asked for output. */
export interface TerminalInteraction {
  readonly type: 'TerminalInteraction';
  /** The call that started the command. */
  readonly call_id: string;
  readonly process_id: string;
  readonly stdin: string;
}

export interface ExecCommandEnd extends Omit<ExecCommandBegin, 'type'> {
  readonly type: 'ExecCommandEnd';
  readonly completed_at_ms: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly aggregated_output: string;
  /** -1 when it is unknown. */
  readonly exit_code: number;
  readonly duration: { readonly secs: number; readonly nanos: number };
  readonly formatted_output: string;
  readonly status: 'completed' | 'failed' | 'declined';
}

/** Events that this subscriber was too slow for: mostly output, which the end event repeats. */
export interface EventsMissed {
  readonly type: 'EventsMissed';
  readonly count: number;
}

export type ExecEvent = ExecCommandBegin | ExecCommandOutputDelta | TerminalInteraction | ExecCommandEnd | EventsMissed;

/** One line of JSON, newline included. */
export const eventLine = (event: ExecEvent): string => `${JSON.stringify(event)}\n`;
