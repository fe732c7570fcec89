import { type Deferred, deferred, onAbort } from '../../base/index.ts';
import { type ApprovalAnswer, type ApprovalRequest, Rejected } from '../approval/index.ts';
import type { CallContext, Tool, ToolResult } from './tool.ts';

export interface PendingQuestion {
  readonly request: ApprovalRequest;
  readonly answer: Deferred<ApprovalAnswer>;
}

/** The next event of a call: its result, or a question that has to be answered first. */
export type CallEvent =
  | { readonly kind: 'result'; readonly result: ToolResult }
  | { readonly kind: 'question'; readonly question: PendingQuestion };

/**
 * A tool at work. It goes on while its questions travel to the user and back, which may take several requests of the
 * client: each waits for the next event.
 */
export class RunningCall {
  readonly #stop = new AbortController();
  readonly #result: Promise<ToolResult>;
  readonly #questions: PendingQuestion[] = [];
  #asked: Deferred<void> = deferred();
  #isOver = false;

  constructor(tool: Tool, args: unknown, callId: string) {
    const context: CallContext = { callId, signal: this.#stop.signal };
    this.#result = this.#run(tool, args, context);
    this.#result.catch(() => {}); // thrown where the next event is awaited
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The question whose answer everything waits for. */
  get question(): PendingQuestion | undefined {
    return this.#questions[0];
  }

  /** Resolves when the user has answered. */
  ask(request: ApprovalRequest, signal?: AbortSignal): Promise<ApprovalAnswer> {
    const question: PendingQuestion = { request, answer: deferred() };
    if (this.#isOver) return Promise.reject(unreachable);
    this.#questions.push(question);
    this.#asked.resolve();
    const withdrawing = onAbort(signal, (reason) => this.#settle(question, (answer) => answer.reject(reason)));
    void question.answer.promise.finally(() => withdrawing[Symbol.dispose]()).catch(() => {}); // told to the asker
    return question.answer.promise;
  }

  answer(question: PendingQuestion, answer: ApprovalAnswer): void {
    this.#settle(question, (waiting) => waiting.resolve(answer));
  }

  /** The user cannot be asked. */
  refuse(question: PendingQuestion, reason: string): void {
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

  /** The client waits no more. The tool decides whether its command goes on. */
  abandon(reason: unknown): void {
    this.#stop.abort(reason);
  }

  async #run(tool: Tool, args: unknown, context: CallContext): Promise<ToolResult> {
    await undefined; // the caller registers the call before it can ask
    try {
      return await tool.call(args, context);
    } finally {
      this.#end();
    }
  }

  #settle(question: PendingQuestion, settle: (answer: Deferred<ApprovalAnswer>) => void): void {
    const at = this.#questions.indexOf(question);
    if (at < 0) return;
    this.#questions.splice(at, 1);
    if (this.#questions.length === 0 && !this.#isOver) this.#asked = deferred();
    settle(question.answer);
  }

  #end(): void {
    this.#isOver = true;
    for (const question of [...this.#questions]) this.#settle(question, (answer) => answer.reject(unreachable));
  }
}

const unreachable = new Rejected('policy', 'the user cannot be asked: no tool call is waiting for an answer');
