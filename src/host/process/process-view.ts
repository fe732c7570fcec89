import type { Changes } from '../../base/index.ts';
import type { Params, Result } from '../../protocol/index.ts';
import { type NumberedOutput, readResultParts } from '../stream/index.ts';
import type { ImposedLimits } from './limits/imposed-limits.ts';
import type { OutputSnapshots } from './output-snapshots.ts';
import type { SandboxVerdict } from './sandbox-verdict.ts';
import { exitOf, type LifecycleState } from './state.ts';
import type { TimeLimit } from './time-limit.ts';

export interface ProcessViewOptions {
  readonly state: () => LifecycleState;
  readonly output: NumberedOutput;
  readonly snapshots: OutputSnapshots;
  readonly verdict: SandboxVerdict;
  readonly timeLimit: TimeLimit | undefined;
  readonly limits: ImposedLimits | undefined;
  /** Notified when output or a change of state can be seen. */
  readonly changes: Changes;
  readonly wantsDenials: () => boolean;
}

type Answer = Result<'process/read'>;
type WaitOptions = Omit<Params<'process/wait'>, 'processId'>;

/** What can be seen of a process: its output, and how it ended. */
export class ProcessView {
  readonly #options: ProcessViewOptions;

  constructor(options: ProcessViewOptions) {
    this.#options = options;
  }

  get #state(): LifecycleState {
    return this.#options.state();
  }

  /** The refusals of the sandbox, for a client that asks for them; absent if they are unknown. */
  get denials(): Pick<Answer, 'denials'> {
    const { verdict, wantsDenials } = this.#options;
    const denials = wantsDenials() ? verdict.denials : undefined;
    return denials ? { denials } : {};
  }

  /** More about the end of the process than its exit code, as far as it is known. */
  get ending(): Pick<Answer, 'signal' | 'timedOut' | 'limitExceeded'> {
    const { timeLimit, limits } = this.#options;
    const { signal } = exitOf(this.#state) ?? {};
    return {
      ...(signal !== undefined && { signal }),
      ...(timeLimit && { timedOut: timeLimit.isOver }),
      ...(limits?.exceeded && { limitExceeded: limits.exceeded }),
    };
  }

  /** Resolves when there is output to read, or none will come, or the time is over. */
  async readable(params: Params<'process/read'>, signal: AbortSignal): Promise<void> {
    const { output, changes } = this.#options;
    const afterSeq = params.afterSeq ?? 0;
    const deadline = performance.now() + (params.waitMs ?? 0);
    output.settle(afterSeq); // the client has all that is before
    for (;;) {
      const waitMs = deadline - performance.now();
      if (output.hasAfter(afterSeq) || this.#nothingToAwait(afterSeq) || waitMs <= 0 || signal.aborted) return;
      await changes.next({ timeoutMs: Math.ceil(waitMs), signal });
    }
  }

  /** The parts of a `process/read` result as JSON text; `delivered` must be called when the client has received them. */
  read(params: Params<'process/read'>): { parts: Uint8Array[]; delivered: () => void } {
    const { output } = this.#options;
    const { chunks, nextSeq, truncated, oldestSeq, delivered } = output.read(
      params.afterSeq ?? 0,
      params.maxBytes ?? undefined,
    );
    const { exited, exitCode, closed, sandboxDenied, ...more } = this.#facts();
    const facts = { nextSeq, exited, exitCode, closed, failure: null, sandboxDenied, ...more, truncated, oldestSeq };
    return { parts: readResultParts(chunks, facts), delivered };
  }

  async wait({ timeoutMs, until }: WaitOptions, signal: AbortSignal): Promise<Result<'process/wait'>> {
    const deadline = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    const reached = () => this.#state.phase === 'closed' || (until === 'exited' && this.#state.phase === 'draining');
    while (!reached() && performance.now() < deadline && !signal.aborted) {
      await this.#options.changes.next({
        signal,
        ...(timeoutMs == null ? {} : { timeoutMs: Math.ceil(deadline - performance.now()) }),
      });
    }
    const { timedOut = false, ...facts } = this.#facts();
    return { ...facts, timedOut: !reached() || timedOut };
  }

  snapshot(): Result<'process/snapshot'> {
    const running = this.#state.phase === 'running';
    return { ...this.#options.snapshots.read(), exitCode: exitOf(this.#state)?.exitCode ?? null, running };
  }

  #nothingToAwait(afterSeq: number): boolean {
    const { phase } = this.#state;
    return phase === 'closed' || (phase === 'draining' && afterSeq < this.#options.output.nextSeq - 1);
  }

  #facts() {
    const exit = exitOf(this.#state);
    return {
      exited: exit !== undefined,
      exitCode: exit?.exitCode ?? null,
      closed: this.#state.phase === 'closed',
      sandboxDenied: exit?.sandboxDenied ?? false,
      ...this.denials,
      ...this.ending,
    };
  }
}
