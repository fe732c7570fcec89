import { type Deferred, deferred, onAbort } from '../../base/index.ts';
import { type ApprovalAnswer, type ApprovalRequest, Rejected } from '../approval/index.ts';
import type { Tool, ToolCall, ToolCallResult } from './tool.ts';

/** A question that the user has not answered yet. */
export interface OpenApproval {
  readonly request: ApprovalRequest;
  readonly answer: Deferred<ApprovalAnswer>;
}

/** The next event of a call: its result, or a question that has to be answered first. */
export type CallEvent =
  | { readonly kind: 'result'; readonly result: ToolCallResult }
  | { readonly kind: 'question'; readonly question: OpenApproval };

/**
 * A running tool call. It goes on while the user answers its questions, which can take several requests of the client: each of
 * them waits for the next event.
 */
export class RunningCall {
  readonly #stop = new AbortController();
  readonly #result: Promise<ToolCallResult>;
  readonly #questions: OpenApproval[] = [];
  /** Resolves when a question is open. */
  #asked: Deferred<void> = deferred();
  #isOver = false;

  constructor(tool: Tool, args: unknown, callId: string) {
    this.#result = this.#run(tool, args, { callId, signal: this.#stop.signal });
    this.#result.catch(() => {}); // `next` throws it
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The oldest open question. */
  get question(): OpenApproval | undefined {
    return this.#questions[0];
  }

  /** Resolves when the user has answered. */
  ask(request: ApprovalRequest, signal?: AbortSignal): Promise<ApprovalAnswer> {
    const question: OpenApproval = { request, answer: deferred() };
    if (this.#isOver) return Promise.reject(cannotAsk());
    this.#questions.push(question);
    this.#asked.resolve();
    const withdrawing = onAbort(signal, (reason) => this.#settle(question, (answer) => answer.reject(reason)));
    void question.answer.promise.finally(() => withdrawing[Symbol.dispose]()).catch(() => {}); // the caller of `ask` gets it
    return question.answer.promise;
  }

  answer(question: OpenApproval, answer: ApprovalAnswer): void {
    this.#settle(question, (waiting) => waiting.resolve(answer));
  }

  /** Rejects a question that the user cannot be asked. */
  refuse(question: OpenApproval, reason: string): void {
    this.#settle(question, (waiting) => waiting.reject(new Rejected('policy', reason)));
  }

  async next(): Promise<CallEvent> {
    for (;;) {
      const question = this.question;
      if (question && !this.#isOver) return { kind: 'question', question };
      const result = await Promise.race([this.#result, this.#asked.promise]);
      if (result !== undefined) return { kind: 'result', result };
    }
  }

  /** Aborts the signal of the tool, which decides whether its command goes on. */
  abandon(reason: unknown): void {
    this.#stop.abort(reason);
  }

  async #run(tool: Tool, args: unknown, call: ToolCall): Promise<ToolCallResult> {
    await undefined; // `McpSession.start` registers the call before it can ask
    try {
      return await tool.call(args, call);
    } finally {
      this.#end();
    }
  }

  #settle(question: OpenApproval, settle: (answer: Deferred<ApprovalAnswer>) => void): void {
    const at = this.#questions.indexOf(question);
    if (at < 0) return;
    this.#questions.splice(at, 1);
    if (this.#questions.length === 0 && !this.#isOver) this.#asked = deferred();
    settle(question.answer);
  }

  #end(): void {
    this.#isOver = true;
    for (const question of [...this.#questions]) this.#settle(question, (answer) => answer.reject(cannotAsk()));
  }
}

export const cannotAsk = (): Rejected =>
  new Rejected('policy', 'the user cannot be asked: no tool call is waiting for an answer');
