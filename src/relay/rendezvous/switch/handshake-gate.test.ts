import { describe, expect, it } from 'vitest';
import { HandshakeGate } from './handshake-gate.ts';

const limits = { pending: 5, uncertain: 2, windowMs: 100 };

describe('the gate for handshakes', () => {
  it('lets some through at a time and others in their order when it is their turn', () => {
    const gate = new HandshakeGate(limits);
    expect(['a', 'b', 'c', 'd', 'e', 'f'].map((stream) => gate.request(stream, 0))).toEqual([
      'pass',
      'pass',
      'hold',
      'hold',
      'hold',
      'refuse',
    ]);

    gate.succeeded('b');
    expect(gate.release(1)).toEqual(['c']);
    gate.succeeded('a');
    gate.succeeded('c');
    expect(gate.release(2)).toEqual(['d', 'e']);
  });

  it('does not let newer ones pass those that wait', () => {
    const gate = new HandshakeGate(limits);
    for (const stream of ['a', 'b', 'c']) gate.request(stream, 0);
    gate.succeeded('a');

    expect([gate.request('d', 1), gate.release(1)]).toEqual(['hold', ['c']]);
  });

  it('refuses all while too many have failed of late', () => {
    const gate = new HandshakeGate(limits);
    gate.request('a', 0);
    gate.request('b', 50);
    gate.failed('a');
    gate.failed('b');

    expect([gate.request('c', 99), gate.request('d', 100)]).toEqual(['refuse', 'pass']);
  });

  it('does not count a success in between as a reason to allow more failures', () => {
    const gate = new HandshakeGate(limits);
    gate.request('a', 0);
    gate.failed('a');
    gate.request('b', 1);
    gate.succeeded('b');
    gate.request('c', 2);
    gate.failed('c');

    expect(gate.request('d', 3)).toBe('refuse');
  });

  it('forgets what was never answered', () => {
    const gate = new HandshakeGate(limits);
    for (const stream of ['a', 'b', 'c']) gate.request(stream, 0);

    expect([gate.release(99), gate.release(100)]).toEqual([[], ['c']]);
  });

  it('drops a stream that went away while it waited', () => {
    const gate = new HandshakeGate(limits);
    for (const stream of ['a', 'b', 'c', 'd']) gate.request(stream, 0);
    gate.failed('c');
    gate.succeeded('a');

    expect(gate.release(1)).toEqual(['d']);
  });
});
