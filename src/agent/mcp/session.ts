import { randomUUID } from 'node:crypto';
import { faultFields, type Logger } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import type { ApprovalAnswer, ApprovalRequest } from '../approval/index.ts';
import { limits } from './limits.ts';
import { type CallEvent, cannotAsk, RunningCall } from './running-call.ts';
import type { OpenToolSet, Tool, ToolSet } from './tool.ts';

/** The tools of one client, and its running calls. */
export class McpSession implements AsyncDisposable {
  readonly #calls = new Map<string, RunningCall>();
  readonly #log: Logger;
  #toolSet!: ToolSet;

  private constructor(log: Logger) {
    this.#log = log;
  }

  static async open(openToolSet: OpenToolSet, log: Logger): Promise<McpSession> {
    const session = new McpSession(log);
    session.#toolSet = await openToolSet((request, signal) => session.#ask(request, signal));
    return session;
  }

  get instructions(): string {
    return this.#toolSet.instructions;
  }

  get tools(): readonly Tool[] {
    return this.#toolSet.tools;
  }

  /** Starts a call. Answers name its id, which must not be guessable. */
  start(name: string, args: unknown): { callId: string; call: RunningCall } {
    const tool = this.tools.find(({ definition }) => definition.name === name);
    if (!tool) throw new ExecError('invalidParams', `unsupported call: ${name}`);
    if (this.#calls.size >= limits.callsPerSession) {
      const message = `${limits.callsPerSession} tool calls are under way; wait for one of them to end`;
      throw new ExecError('invalidRequest', message);
    }
    const callId = randomUUID();
    const call = new RunningCall(tool, args, callId);
    this.#calls.set(callId, call);
    return { callId, call };
  }

  /** A running call. */
  find(callId: string): RunningCall | undefined {
    return this.#calls.get(callId);
  }

  /** Waits for the next event of a call. After its result the call is forgotten. */
  async next(callId: string, call: RunningCall): Promise<CallEvent> {
    try {
      const event = await call.next();
      if (event.kind === 'result') this.#calls.delete(callId);
      else this.#expire(callId, call);
      return event;
    } catch (error) {
      this.#calls.delete(callId);
      if (!(error instanceof ExecError)) this.#log.error('call.failed', faultFields(error));
      return { kind: 'result', result: { text: ExecError.from(error).message, success: false } };
    }
  }

  /** Ends waiting for a call that the client has given up. */
  abandon(callId: string, reason: unknown): void {
    this.#calls.get(callId)?.abandon(reason);
    this.#calls.delete(callId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const callId of this.#calls.keys()) this.abandon(callId, new Error('the session has ended'));
    await this.#toolSet[Symbol.asyncDispose]();
  }

  /** A question about a command that an earlier call started is asked by any running call. */
  async #ask(request: ApprovalRequest, signal?: AbortSignal): Promise<ApprovalAnswer> {
    const call = this.#calls.get(request.itemId) ?? [...this.#calls.values()].find(({ isOver }) => !isOver);
    if (call) return call.ask(request, signal);
    throw cannotAsk();
  }

  /** Abandons the call unless its question is answered in time. */
  #expire(callId: string, call: RunningCall): void {
    const { question } = call;
    const timer = setTimeout(() => {
      if (call.question === question) this.abandon(callId, new Error('the question was not answered in time'));
    }, limits.questionMs);
    timer.unref();
    void question?.answer.promise.finally(() => clearTimeout(timer)).catch(() => {}); // `ask` throws it
  }
}
