import { limits } from '../limits.ts';
import type { CommandSession } from './command-session.ts';
import { settleWithin } from './settle-within.ts';

/** Emits the end events of sessions, which may be long after any call. */
export class EndEvents {
  readonly #pending = new Set<Promise<void>>();

  /** Emits the end event of a session once the command is over and its last output has arrived. */
  expect(session: CommandSession): void {
    const emitted = emitEnd(session);
    this.#pending.add(emitted);
    void emitted.finally(() => this.#pending.delete(emitted));
  }

  /** Waits for the events that are still to come, but not longer than this: a server may not answer. */
  async settle(timeoutMs: number): Promise<void> {
    if (this.#pending.size > 0) await settleWithin(this.#pending, timeoutMs);
  }
}

async function emitEnd(session: CommandSession): Promise<void> {
  const { process, item, scope, mutex } = session;
  while (!process.isOver) await process.changes.next();
  const deadline = performance.now() + limits.trailingOutputMs;
  while (!process.isDrained && performance.now() < deadline) {
    await process.changes.next({ timeoutMs: deadline - performance.now() });
  }
  await scope?.settle(limits.networkGraceMs);
  using _turn = await mutex.lock();
  if (!session.isSuperseded) item.end(process);
}
