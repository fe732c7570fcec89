import { describe, expect, it } from 'vitest';
import { type ConnectionState, nextConnectionState } from './connection-state.ts';

const reason = new Error('the network went away');
const open: ConnectionState = { phase: 'open', sessionId: 's' };
const resuming: ConnectionState = { phase: 'resuming', sessionId: 's', lost: reason };

describe('the state of a connection', () => {
  it.each<[string, ConnectionState, Parameters<typeof nextConnectionState>[1], ConnectionState]>([
    ['opens', { phase: 'opening' }, { type: 'opened', sessionId: 's' }, open],
    ['resumes after a loss', open, { type: 'lost', reason }, resuming],
    ['is open again once resumed', resuming, { type: 'resumed' }, open],
    [
      'closes at a loss when there is no session',
      { phase: 'open', sessionId: undefined },
      { type: 'lost', reason },
      { phase: 'closed', reason },
    ],
    ['closes when the handshake fails', { phase: 'opening' }, { type: 'ended', reason }, { phase: 'closed', reason }],
    ['closes when the resume fails', resuming, { type: 'ended', reason }, { phase: 'closed', reason }],
    ['stays closed', { phase: 'closed', reason }, { type: 'resumed' }, { phase: 'closed', reason }],
  ])('%s', (_, state, event, expected) => {
    expect(nextConnectionState(state, event)).toEqual(expected);
  });

  it('throws for an event that is impossible in its state', () => {
    expect(() => nextConnectionState(open, { type: 'resumed' })).toThrow('cannot handle resumed while open');
  });
});
