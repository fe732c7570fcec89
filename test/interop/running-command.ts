import type { ScriptedModel } from './scripted-model.ts';
import type { ToolResult } from './tool-result.ts';

// The client waits for the whole window before it answers, unless the command ends first.
const windowMs = 500;
const pollMs = 5_000;

/** A running command as the model knows it: a session id, and output that arrives window by window. */
export class RunningCommand {
  readonly id: number;
  readonly #model: ScriptedModel;
  #output: string;
  #exitCode: number | null = null;

  constructor(model: ScriptedModel, first: ToolResult) {
    if (first.sessionId === null) throw new Error(`the command is not running any more:\n${first.text}`);
    this.#model = model;
    this.id = first.sessionId;
    this.#output = first.output;
  }

  /** Everything shown to the model so far. */
  get output(): string {
    return this.#output;
  }

  async type(chars: string): Promise<ToolResult> {
    const result = await this.#model.stdin(this.id, chars, windowMs);
    this.#output += result.output;
    this.#exitCode = result.exitCode;
    return result;
  }

  /** Polls until the output matches: one window may be too short on a busy machine. */
  async shows(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#output)) await this.#poll();
  }

  async end(): Promise<{ exitCode: number; output: string }> {
    while (this.#exitCode === null) await this.#poll();
    return { exitCode: this.#exitCode, output: this.#output };
  }

  async #poll(): Promise<void> {
    const result = await this.#model.stdin(this.id, '', pollMs);
    if (result.sessionId === null && result.exitCode === null) throw new Error(`the session is lost:\n${result.text}`);
    this.#output += result.output;
    this.#exitCode = result.exitCode;
  }
}
