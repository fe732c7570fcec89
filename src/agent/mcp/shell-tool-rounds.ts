import { randomUUID } from 'node:crypto';
import { type InputRequiredResult, inputRequired, type ServerContext } from '@modelcontextprotocol/server';
import { type Deferred, deferred, onAbort } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import type { AskEscalation, EscalationReply, ShellOutcome } from '../escalation/index.ts';
import { questionForm, replyOf } from './shell-tool-question.ts';

/** Starts a call that asks, and ends with the signal. */
export type StartCall = (ask: AskEscalation, signal: AbortSignal) => Promise<ShellOutcome>;

/** What a request is answered with: the end of the call, or what it has to know first. */
export type Round = { readonly outcome: ShellOutcome } | { readonly asks: InputRequiredResult };

interface OpenQuestion {
  readonly message: string;
  readonly reply: Deferred<EscalationReply>;
}

/** A client that does not come back with an answer has lost interest. */
const QUESTION_LIMIT_MS = 60 * 60_000;

/**
 * Calls of clients that cannot be sent requests: what has to be asked goes out as the result of a request, and the answers
 * come with the next one. The call goes on meanwhile.
 */
export class CallRounds {
  readonly #calls = new Map<string, RoundsCall>();

  /** Goes on with the call that a request belongs to, or starts one. */
  async round({ mcpReq }: ServerContext, start: StartCall): Promise<Round> {
    const known = mcpReq.requestState<string>();
    const id = known ?? randomUUID();
    if (known === undefined) this.#calls.set(id, new RoundsCall(start, () => this.#calls.delete(id)));
    const call = this.#calls.get(id);
    if (!call) throw new ExecError('invalidParams', 'the call that asked has ended; call the tool again');
    for (const [key, response] of Object.entries(mcpReq.inputResponses ?? {})) call.answer(key, replyOf(response));
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
  readonly #questions = new Map<string, OpenQuestion>();
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

  /** Resolves with the outcome, or with nothing when there is something to ask. */
  async next(): Promise<ShellOutcome | undefined> {
    clearTimeout(this.#expiry);
    for (;;) {
      const outcome = await Promise.race([this.#outcome, this.#asked.promise]);
      if (outcome) return outcome;
      if (this.#questions.size > 0) break; // else what was asked has been taken back since
    }
    this.#expiry = setTimeout(() => this.#abandon(), QUESTION_LIMIT_MS).unref();
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
