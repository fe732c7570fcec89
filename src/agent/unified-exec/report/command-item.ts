import { encodeBase64 } from '../../../base/index.ts';
import { limits } from '../limits.ts';
import type { CommandProcess } from '../run/command-process.ts';
import { DeltaCutter } from './delta-cutter.ts';
import type { ExecCommandBegin, ExecCommandEnd, ExecEvent } from './exec-event.ts';
import { outputText } from './output-text.ts';
import { fitOutput } from './truncation.ts';

/** The members that all events of a command have. */
export type CommandFacts = Pick<ExecCommandBegin, 'call_id' | 'turn_id' | 'command' | 'cwd' | 'parsed_cmd'>;

/** Emits the events of one command in order: one begin event, output and interactions, one end event. */
export class CommandItem {
  readonly #facts: CommandFacts;
  readonly #emit: (event: ExecEvent) => void;
  readonly #cutter = new DeltaCutter();
  #begin: ExecCommandBegin | undefined;
  #processId: string | undefined;
  #ended = false;
  #deltas = 0;
  #runningSince = performance.now();

  constructor(facts: CommandFacts, emit: (event: ExecEvent) => void) {
    this.#facts = facts;
    this.#emit = emit;
  }

  /** Announces the command when the user is asked about it, unless it is announced. */
  announceQuestion(): void {
    this.#announce({ source: 'agent' });
  }

  /** Announces that the command runs, and emits its output from the start. */
  announceRun(sessionId: number, process: CommandProcess): void {
    this.#processId = String(sessionId);
    this.#runningSince = performance.now();
    this.#announce({ source: 'unified_exec_startup', process_id: this.#processId });
    process.follow((bytes) => this.#print(bytes));
  }

  /** Emits an interaction; does nothing before the command runs. */
  announceInteraction(stdin: string): void {
    if (this.#processId === undefined || this.#ended) return;
    this.#emit({ type: 'TerminalInteraction', call_id: this.#facts.call_id, process_id: this.#processId, stdin });
  }

  /** Emits the end event of a command that has run. */
  end({ facts, transcript }: CommandProcess): void {
    const { exitCode = -1, failureMessage } = facts;
    const output = outputText(transcript);
    const formatted = fitOutput(output, limits.modelOutputTokens);
    if (failureMessage === undefined) {
      const status = exitCode === 0 ? 'completed' : 'failed';
      this.#end({ stdout: output.text, stderr: '', exit_code: exitCode, status }, output.text, formatted);
      return;
    }
    const aggregated = `${output.text}\n${failureMessage}`;
    this.#end({ stdout: output.text, stderr: failureMessage, exit_code: -1, status: 'failed' }, aggregated, formatted);
  }

  /** Forgets a run that is given up: the next attempt may or may not run. */
  forgetRun(): void {
    this.#processId = undefined;
  }

  /** Emits the end event of a command that never ran. */
  endUnrun(status: 'declined' | 'failed', reason: string): void {
    if (this.#processId === undefined) this.#end({ stdout: '', stderr: reason, exit_code: -1, status }, reason, reason);
  }

  #announce(begin: Pick<ExecCommandBegin, 'source' | 'process_id'>): void {
    if (this.#begin) return;
    this.#begin = { type: 'ExecCommandBegin', ...this.#facts, ...begin, started_at_ms: Date.now() };
    this.#emit(this.#begin);
  }

  #print(bytes: Uint8Array): void {
    for (const piece of this.#cutter.cut(bytes)) this.#delta(piece);
  }

  #delta(piece: Uint8Array): void {
    if (this.#ended || this.#deltas++ >= limits.deltasPerCall) return;
    const { call_id } = this.#facts;
    this.#emit({ type: 'ExecCommandOutputDelta', call_id, stream: 'stdout', chunk: encodeBase64(piece) });
  }

  #end(
    outcome: Pick<ExecCommandEnd, 'stdout' | 'stderr' | 'exit_code' | 'status'>,
    aggregated_output: string,
    formatted_output: string,
  ): void {
    if (!this.#begin || this.#ended) return;
    for (const piece of this.#cutter.rest()) this.#delta(piece);
    this.#ended = true;
    const ran = this.#processId !== undefined;
    const ms = ran ? performance.now() - this.#runningSince : 0;
    this.#emit({
      ...this.#begin,
      type: 'ExecCommandEnd',
      ...(ran && { process_id: this.#processId!, source: 'unified_exec_startup' }),
      completed_at_ms: Date.now(),
      ...outcome,
      aggregated_output,
      formatted_output,
      duration: { secs: Math.floor(ms / 1000), nanos: Math.floor((ms % 1000) * 1e6) },
    });
  }
}
