import { describe, expect, it } from 'vitest';
import { next, type StreamEvent, type StreamState } from './state.ts';

const stateAfter = (...events: StreamEvent[]): StreamState => events.reduce(next, { phase: 'open', isSending: true });

describe('the state of a stream', () => {
  it('keeps each direction open until that direction ends', () => {
    expect(stateAfter({ type: 'sent' })).toEqual({ phase: 'open', isSending: false });
    expect(stateAfter({ type: 'ended', seq: 3 })).toEqual({ phase: 'open', isSending: true, endedSeq: 3 });
  });

  it('has the first failure as its reason', () => {
    const failures = [{ type: 'failed', error: 'first' } as const, { type: 'failed', error: 'second' } as const];
    expect(stateAfter(...failures, { type: 'closed' })).toEqual({ phase: 'closed', error: 'first' });
  });

  it('has no failure when the client has closed it', () => {
    const abandoned = stateAfter({ type: 'abandoned' }, { type: 'failed', error: 'reset' }, { type: 'closed' });
    expect(abandoned).toEqual({ phase: 'closed' });
  });

  it('does not change when it is closed, nor by a second end', () => {
    const closed = stateAfter({ type: 'ended', seq: 1 }, { type: 'closed' });
    for (const type of ['sent', 'abandoned', 'closed'] as const) expect(next(closed, { type })).toBe(closed);
    const ended = stateAfter({ type: 'ended', seq: 1 });
    expect(next(ended, { type: 'ended', seq: 2 })).toBe(ended);
  });
});
