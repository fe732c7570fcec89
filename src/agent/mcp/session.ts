import { randomUUID } from 'node:crypto';
import { faultFields, type Logger } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import { type ApprovalAnswer, type ApprovalRequest, Rejected } from '../approval/index.ts';
import { type CallEvent, RunningCall } from './running-call.ts';
import type { OpenToolSet, Tool, ToolSet } from './tool.ts';

/** Calls at work at once; a client that starts more is told to wait for some. */
const MOST_CALLS = 64;
/** A client that does not come back with an answer has lost interest. */
const QUESTION_LIMIT_MS = 10 * 60_000;

/** One client's tools and the calls it has under way. */
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

  /** Starts a tool; its id is what an answer is addressed to, so it cannot be guessed. */
  start(name: string, args: unknown): { callId: string; call: RunningCall } {
    const tool = this.tools.find(({ definition }) => definition.name === name);
    if (!tool) throw new ExecError('invalidParams', `unsupported call: ${name}`);
    if (this.#calls.size >= MOST_CALLS) {
      throw new ExecError('invalidRequest', `${MOST_CALLS} tool calls are under way; wait for one of them to end`);
    }
    const callId = randomUUID();
    const call = new RunningCall(tool, args, callId);
    this.#calls.set(callId, call);
    return { callId, call };
  }

  /** A call that was started before and has asked something. */
  find(callId: string): RunningCall | undefined {
    return this.#calls.get(callId);
  }

  /** The next event of the call. After its result the call is forgotten. */
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

  /** The client waits for the call no more. */
  abandon(callId: string, reason: unknown): void {
    this.#calls.get(callId)?.abandon(reason);
    this.#calls.delete(callId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const callId of this.#calls.keys()) this.abandon(callId, new Error('the session has ended'));
    await this.#toolSet[Symbol.asyncDispose]();
  }

  /** A question about what an earlier call started is put to the client by whatever call it has under way. */
  async #ask(request: ApprovalRequest, signal?: AbortSignal): Promise<ApprovalAnswer> {
    const call = this.#calls.get(request.itemId) ?? [...this.#calls.values()].find(({ isOver }) => !isOver);
    if (call) return call.ask(request, signal);
    throw new Rejected('policy', 'the user cannot be asked: no tool call is waiting for an answer');
  }

  #expire(callId: string, call: RunningCall): void {
    const { question } = call;
    const timer = setTimeout(() => {
      if (call.question === question) this.abandon(callId, new Error('the question was not answered in time'));
    }, QUESTION_LIMIT_MS);
    timer.unref();
    void question?.answer.promise.finally(() => clearTimeout(timer)).catch(() => {}); // told to the asker
  }
}
