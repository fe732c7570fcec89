import { describe, expect, it } from 'vitest';
import { type HarnessEvent, type HarnessState, next } from './harness-state.ts';

const handshaking: HarnessState = { phase: 'handshaking' };
const open: HarnessState = { phase: 'open' };
const failed = (reason: string): HarnessState => ({ phase: 'failed', reason });

const expected: readonly [HarnessEvent, HarnessState, HarnessState][] = [
  ['data', failed('data before the handshake is complete'), open],
  ['ack', handshaking, open],
  ['resume', handshaking, open],
  ['heartbeat', handshaking, open],
  ['reset', failed('the environment refused the stream'), open],
  ['handshake', open, failed('a second handshake answer')],
  ['timeout', failed('the environment does not answer'), open],
  ['connectionLost', failed('the connection ended during the handshake'), open],
];

describe('the handshake of a harness', () => {
  it.each(expected)('after %s is %j, and %j if it was complete', (event, whileHandshaking, whileOpen) => {
    expect([next(handshaking, event), next(open, event)]).toEqual([whileHandshaking, whileOpen]);
  });

  it.each(expected)('that has failed stays so after %s', (event) => {
    const state = failed('first');

    expect(next(state, event)).toBe(state);
  });
});
