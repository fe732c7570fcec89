import { afterEach, describe, expect, it, vi } from 'vitest';
import { deferred, silentLogger } from '../../base/index.ts';
import type { ApprovalRequest } from '../approval/index.ts';
import { McpSession } from './session.ts';
import type { AskUser, Tool } from './tool.ts';

const question = (itemId: string, approvalId = 'q1') =>
  ({ kind: 'command', approvalId, itemId, availableDecisions: ['accept'] }) as unknown as ApprovalRequest;

/** A session with one tool, which does what the test says. */
async function openSession(call: (ask: AskUser, ...rest: Parameters<Tool['call']>) => ReturnType<Tool['call']>) {
  const definition = { name: 'tool', description: '', inputSchema: { type: 'object', properties: {} } } as const;
  let ask!: AskUser;
  const session = await McpSession.open(async (given) => {
    ask = given;
    const tool: Tool = { definition, call: (...args) => call(ask, ...args) };
    return { instructions: '', tools: [tool], [Symbol.asyncDispose]: async () => {} };
  }, silentLogger);
  return { session, ask };
}

describe('a session', () => {
  afterEach(() => vi.useRealTimers());

  it('brings a call to its result by way of its questions', async () => {
    const { session } = await openSession(async (ask, args, { callId, signal }) => {
      const { decision } = await ask(question(callId), signal);
      return { text: `${JSON.stringify(args)} ${decision}`, success: true };
    });

    const { callId, call } = session.start('tool', { a: 1 });
    const asked = await session.next(callId, call);
    if (asked.kind !== 'question') throw new Error('nothing was asked');
    call.answer(asked.question, { decision: 'accept' });

    expect(await session.next(callId, call)).toEqual({
      kind: 'result',
      result: { text: '{"a":1} accept', success: true },
    });
    expect(session.find(callId)).toBeUndefined();
  });

  it('turns a failure into a result', async () => {
    const { session } = await openSession(() => Promise.reject(new Error('broken')));
    const { callId, call } = session.start('tool', {});

    expect(await session.next(callId, call)).toEqual({ kind: 'result', result: { text: 'broken', success: false } });
  });

  it('tells a tool that the user cannot be asked', async () => {
    const { session } = await openSession(async (ask, _, { callId }) => {
      const reason = await ask(question(callId)).catch(({ message }: Error) => message);
      return { text: String(reason), success: false };
    });
    const { callId, call } = session.start('tool', {});
    const asked = await session.next(callId, call);
    if (asked.kind !== 'question') throw new Error('nothing was asked');
    call.refuse(asked.question, 'the user is away');

    expect(await session.next(callId, call)).toMatchObject({ result: { text: 'the user is away' } });
  });

  it('puts the question of a call that is over to the one under way, and refuses it without one', async () => {
    const release = deferred();
    const { session, ask } = await openSession(async () => {
      await release.promise;
      return { text: '', success: true };
    });

    await expect(ask(question('over'))).rejects.toThrow('no tool call is waiting for an answer');
    const { callId, call } = session.start('tool', {});
    const answer = ask(question('over'));
    const asked = await session.next(callId, call);
    if (asked.kind !== 'question') throw new Error('nothing was asked');
    call.answer(asked.question, { decision: 'decline' });
    release.resolve();

    expect(await answer).toEqual({ decision: 'decline' });
  });

  it('withdraws a question whose answer is not needed any more', async () => {
    const stop = new AbortController();
    const { session } = await openSession(async (ask, _, { callId }) => {
      await ask(question(callId, 'first'), stop.signal).catch(() => {});
      const { decision } = await ask(question(callId, 'second'));
      return { text: decision, success: true };
    });
    const { callId, call } = session.start('tool', {});
    const first = await session.next(callId, call);
    stop.abort();
    const second = await session.next(callId, call);

    expect([first, second]).toMatchObject([
      { question: { request: { approvalId: 'first' } } },
      { question: { request: { approvalId: 'second' } } },
    ]);
  });

  it('gives up a call whose question stays without an answer', async () => {
    vi.useFakeTimers();
    const aborted = deferred<unknown>();
    const { session } = await openSession(async (ask, _, { callId, signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason));
      await ask(question(callId), signal);
      return { text: '', success: true };
    });
    const { callId, call } = session.start('tool', {});
    await session.next(callId, call);
    vi.advanceTimersByTime(10 * 60_000);

    expect(await aborted.promise).toEqual(new Error('the question was not answered in time'));
    expect(session.find(callId)).toBeUndefined();
  });

  it('has 64 calls under way at most, and forgets those that were given up', async () => {
    const { session } = await openSession(() => new Promise(() => {}));
    const started = Array.from({ length: 64 }, () => session.start('tool', {}));

    expect(() => session.start('tool', {})).toThrow('64 tool calls are under way; wait for one of them to end');
    session.abandon(started[0]!.callId, new Error('cancelled'));
    expect(session.start('tool', {}).callId).not.toBe('');
    expect(() => session.start('hammer', {})).toThrow('unsupported call: hammer');
  });
});
