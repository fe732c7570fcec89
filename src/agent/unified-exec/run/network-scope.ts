import type { NetworkAnswer, NetworkQuestion } from '../backends/network-questions.ts';
import type { CommandProcess } from './command-process.ts';
import { settleWithin } from './settle-within.ts';

/** Decides whether a command may connect to a host. */
export type NetworkJudge = (question: NetworkQuestion, signal: AbortSignal) => Promise<boolean>;

/** Decides about the connections of one attempt to run a command: the first refusal ends the command. */
export class NetworkScope {
  readonly #judge: NetworkJudge;
  readonly #ending = new AbortController();
  readonly #open = new Set<Promise<NetworkAnswer>>();
  #process: CommandProcess | undefined;
  #denied = false;

  constructor(judge: NetworkJudge) {
    this.#judge = judge;
  }

  /** Sets the started process. A refusal that came before ends it. */
  attach(process: CommandProcess): void {
    this.#process = process;
    if (this.#denied) this.#endProcess();
  }

  readonly answer = async (question: NetworkQuestion): Promise<NetworkAnswer> => {
    const deciding = this.#decide(question);
    this.#open.add(deciding);
    try {
      return await deciding;
    } finally {
      this.#open.delete(deciding);
    }
  };

  /** Waits for open questions, but not longer than this; then withdraws them. */
  async settle(graceMs: number): Promise<void> {
    if (this.#open.size > 0) await settleWithin(this.#open, graceMs);
    this.#ending.abort();
  }

  async #decide(question: NetworkQuestion): Promise<NetworkAnswer> {
    if (this.#denied) return refusal;
    const deciding = this.#judge(question, this.#ending.signal).catch(() => false); // an approver that fails has not allowed it
    const allowed = await (this.#process ? this.#process.duringQuestion(deciding) : deciding);
    if (allowed) return { type: 'allow' };
    if (this.#ending.signal.aborted) return refusal; // withdrawn because the command is over, not refused
    this.#denied = true;
    this.#endProcess();
    return refusal;
  }

  #endProcess(): void {
    this.#process?.fail(NETWORK_DENIED);
    void this.#process?.terminate();
  }
}

const refusal: NetworkAnswer = { type: 'deny', reason: 'not_allowed' };

/** The text for the model when a host is refused. */
const NETWORK_DENIED = 'Network access was denied by the Codex sandbox network proxy.';
