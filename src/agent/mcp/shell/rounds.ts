import { randomUUID } from 'node:crypto';
import { type InputRequiredResult, inputRequired, type ServerContext } from '@modelcontextprotocol/server';
import { type Deferred, deferred, onAbort } from '../../../base/index.ts';
import { ExecError } from '../../../protocol/index.ts';
import type { AskEscalation, EscalationReply, ShellOutcome } from '../../escalation/index.ts';
import { limits } from '../limits.ts';
import { escalationReply, questionForm } from './question-form.ts';

/** Starts a call that asks its questions by `ask` and ends when the signal aborts. */
export type StartCall = (ask: AskEscalation, signal: AbortSignal) => Promise<ShellOutcome>;

/** The answer to one request: the outcome of the call, or questions that have to be answered first. */
export type Round = { readonly outcome: ShellOutcome } | { readonly asks: InputRequiredResult };

interface OpenEscalation {
  readonly message: string;
  readonly reply: Deferred<EscalationReply>;
}

/**
 * Calls of clients that cannot be sent requests: questions are the result of one request, and the answers come with the next.
 * The call goes on meanwhile.
 */
export class CallRounds {
  readonly #calls = new Map<string, RoundsCall>();

  /** Continues the call that a request belongs to, or starts one. */
  async round({ mcpReq }: ServerContext, start: StartCall): Promise<Round> {
    const known = mcpReq.requestState<string>();
    const id = known ?? randomUUID();
    if (known === undefined) this.#calls.set(id, new RoundsCall(start, () => this.#calls.delete(id)));
    const call = this.#calls.get(id);
    if (!call) throw new ExecError('invalidParams', 'the call that asked has ended; call the tool again');
    for (const [key, response] of Object.entries(mcpReq.inputResponses ?? {}))
      call.answer(key, escalationReply(response));
    using _cancelling = onAbort(mcpReq.signal, (reason) => call.cancel(reason));
    try {
      const outcome = await call.next();
      if (!outcome) return { asks: inputRequired({ inputRequests: call.inputRequests, requestState: id }) };
      this.#calls.delete(id);
      return { outcome };
    } catch (error) {
      this.#calls.delete(id);
      throw error;
    }
  }
}

class RoundsCall {
  readonly #stop = new AbortController();
  readonly #outcome: Promise<ShellOutcome>;
  readonly #questions = new Map<string, OpenEscalation>();
  #asked: Deferred<void> = deferred();
  #expiry: NodeJS.Timeout | undefined;
  #count = 0;
  readonly #onAbandoned: () => void;

  constructor(start: StartCall, onAbandoned: () => void) {
    this.#onAbandoned = onAbandoned;
    this.#outcome = start((question, signal) => this.#ask(question.message, signal), this.#stop.signal);
    this.#outcome.catch(() => undefined); // thrown where the next round is awaited
  }

  get inputRequests(): NonNullable<Parameters<typeof inputRequired>[0]['inputRequests']> {
    const forms = [...this.#questions].map(([key, { message }]) => [
      key,
      inputRequired.elicit({ mode: 'form', ...questionForm(message) }),
    ]);
    return Object.fromEntries(forms);
  }

  answer(key: string, reply: EscalationReply): void {
    this.#questions.get(key)?.reply.resolve(reply);
    this.#forget(key);
  }

  cancel(reason: unknown): void {
    this.#stop.abort(reason);
  }

  /** Resolves with the outcome, or with undefined when a question is open. */
  async next(): Promise<ShellOutcome | undefined> {
    clearTimeout(this.#expiry);
    for (;;) {
      const outcome = await Promise.race([this.#outcome, this.#asked.promise]);
      if (outcome) return outcome;
      if (this.#questions.size > 0) break; // otherwise the question has been withdrawn since
    }
    this.#expiry = setTimeout(() => this.#abandon(), limits.shellQuestionMs).unref();
    return undefined;
  }

  #abandon(): void {
    this.cancel(new Error('the question was not answered in time'));
    this.#onAbandoned();
  }

  #ask(message: string, signal: AbortSignal): Promise<EscalationReply> {
    const key = `question-${++this.#count}`;
    const reply = deferred<EscalationReply>();
    this.#questions.set(key, { message, reply });
    this.#asked.resolve();
    const withdrawing = onAbort(signal, (reason) => {
      this.#forget(key);
      reply.reject(reason);
    });
    return reply.promise.finally(() => withdrawing[Symbol.dispose]());
  }

  #forget(key: string): void {
    this.#questions.delete(key);
    if (this.#questions.size === 0) this.#asked = deferred();
  }
}
