import { describe, expect, it } from 'vitest';
import { nextReplacementState, type ReplacementEvent, type ReplacementState } from './replacement-state.ts';

const stateAfter = (...events: ReplacementEvent[]): ReplacementState =>
  events.reduce<ReplacementState>(nextReplacementState, 'pending');

describe('a launcher that has its order', () => {
  it('is not replaced once it has begun, or its child is disposed', () => {
    expect(stateAfter('began')).toBe('settled');
    expect(stateAfter('disposed')).toBe('settled');
    expect(stateAfter('began', 'overdue')).toBe('settled');
    expect(stateAfter('disposed', 'overdue')).toBe('settled');
  });

  it('is replaced if it is overdue, although it exits meanwhile', () => {
    expect(stateAfter('overdue')).toBe('replacing');
    expect(stateAfter('overdue', 'began')).toBe('replacing');
    expect(stateAfter('overdue', 'began', 'ended')).toBe('settled');
  });

  it('has no successor if its child is disposed while it is being killed', () => {
    expect(stateAfter('overdue', 'disposed')).toBe('cancelled');
    expect(stateAfter('overdue', 'disposed', 'began', 'overdue')).toBe('cancelled');
    expect(stateAfter('overdue', 'disposed', 'ended')).toBe('settled');
  });

  it('is replaced once at most', () => {
    for (const event of ['began', 'overdue', 'disposed', 'ended'] as const) {
      expect(stateAfter('overdue', 'ended', event)).toBe('settled');
    }
  });
});
