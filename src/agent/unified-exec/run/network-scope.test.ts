import { describe, expect, it } from 'vitest';
import { deferred } from '../../../base/index.ts';
import type { CommandProcess } from './command-process.ts';
import { NetworkScope } from './network-scope.ts';

const question = { protocol: 'http', host: 'example.com', port: 80 } as const;
const denial = 'Network access was denied by the Codex sandbox network proxy.';

/** A command that only remembers what was done to it. */
function command() {
  const done: string[] = [];
  const process = {
    fail: (message: string) => void done.push(message),
    terminate: async () => void done.push('ended'),
    duringQuestion: <T>(work: Promise<T>) => work,
  } as unknown as CommandProcess;
  return { done, process };
}

describe('the network of an attempt', () => {
  it('ends its command at the first refusal, and refuses everything after it', async () => {
    const { done, process } = command();
    const scope = new NetworkScope(async ({ host }) => host !== 'example.com');
    scope.attach(process);

    const answers = [await scope.answer(question), await scope.answer({ ...question, host: 'other.com' })];

    expect(answers).toEqual([
      { type: 'deny', reason: 'not_allowed' },
      { type: 'deny', reason: 'not_allowed' },
    ]);
    expect(done).toEqual([denial, 'ended']);
  });

  it('remembers a refusal that came before the start was answered', async () => {
    const { done, process } = command();
    const scope = new NetworkScope(async () => false);
    await scope.answer(question);
    scope.attach(process);

    expect(done).toEqual([denial, 'ended']);
  });

  it('hears a refusal that comes shortly after the exit', async () => {
    const { done, process } = command();
    const verdict = deferred<boolean>();
    const scope = new NetworkScope(() => verdict.promise);
    scope.attach(process);
    const answer = scope.answer(question);
    const settled = scope.settle(10_000);
    verdict.resolve(false);
    await Promise.all([answer, settled]);

    expect(done).toContain(denial);
  });

  it('withdraws questions that no connection waits for, and refuses none', async () => {
    const { done, process } = command();
    const scope = new NetworkScope(
      (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(false))),
    );
    scope.attach(process);
    const answer = scope.answer(question);
    await scope.settle(1);

    expect([await answer, done]).toEqual([{ type: 'deny', reason: 'not_allowed' }, []]);
  });

  it('takes a judge that fails for a no', async () => {
    const scope = new NetworkScope(() => Promise.reject(new Error('gone')));
    expect(await scope.answer(question)).toEqual({ type: 'deny', reason: 'not_allowed' });
  });
});
