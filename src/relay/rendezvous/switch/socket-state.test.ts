import { describe, expect, it } from 'vitest';
import type { FrameSocket } from './frame-socket.ts';
import { nextSocketState, type SocketEvent, type SocketState } from './socket-state.ts';

const socket: FrameSocket = { send() {}, pause() {}, resume() {}, probe() {}, close() {} };

const states: Readonly<Record<SocketState['phase'], SocketState>> = {
  opening: { phase: 'opening' },
  reading: { phase: 'reading', socket },
  paused: { phase: 'paused', socket },
  closed: { phase: 'closed', closing: { code: 4409, reason: 'replaced' } },
};

const events: Readonly<Record<SocketEvent['type'], SocketEvent>> = {
  opened: { type: 'opened', socket },
  full: { type: 'full' },
  room: { type: 'room' },
  closed: { type: 'closed', closing: { code: 1001, reason: 'going away' } },
};

const refused = new Error('refused');

describe('the socket of an environment or a harness', () => {
  it.each([
    ['opening', { opened: 'reading', full: 'opening', room: 'opening', closed: 'closed' }],
    ['reading', { opened: refused, full: 'paused', room: 'reading', closed: 'closed' }],
    ['paused', { opened: refused, full: 'paused', room: 'reading', closed: 'closed' }],
    ['closed', { opened: 'closed', full: 'closed', room: 'closed', closed: 'closed' }],
  ] as const)('follows its diagram from %s', (phase, expected) => {
    for (const [type, next] of Object.entries(expected)) {
      const act = () => nextSocketState(states[phase], events[type as SocketEvent['type']]).phase;
      if (next === refused) expect(act, type).toThrow(`a socket that is ${phase} cannot be opened`);
      else expect(act(), type).toBe(next);
    }
  });

  it('keeps the reason of its first closing', () => {
    expect(nextSocketState(states.closed, events.closed)).toEqual({
      phase: 'closed',
      closing: { code: 4409, reason: 'replaced' },
    });
  });
});
