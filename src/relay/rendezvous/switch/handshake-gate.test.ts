import { describe, expect, it } from 'vitest';
import { HandshakeGate } from './handshake-gate.ts';

const limits = { pending: 5, uncertain: 2, windowMs: 100 };
const frame = Uint8Array.of(1);
const held = (...streams: string[]) => streams.map((stream) => ({ stream, frame }));

describe('the gate for handshakes', () => {
  it('lets some through at a time and others in their order when it is their turn', () => {
    const gate = new HandshakeGate(limits);
    expect(['a', 'b', 'c', 'd', 'e', 'f'].map((stream) => gate.request(stream, frame, 0))).toEqual([
      'pass',
      'pass',
      'hold',
      'hold',
      'hold',
      'refuse',
    ]);

    gate.succeeded('b');
    expect(gate.release(1)).toEqual(held('c'));
    gate.succeeded('a');
    gate.succeeded('c');
    expect(gate.release(2)).toEqual(held('d', 'e'));
  });

  it('does not let newer ones pass those that wait', () => {
    const gate = new HandshakeGate(limits);
    for (const stream of ['a', 'b', 'c']) gate.request(stream, frame, 0);
    gate.succeeded('a');

    expect([gate.request('d', frame, 1), gate.release(1)]).toEqual(['hold', held('c')]);
  });

  it('holds the last handshake of a stream that repeats it', () => {
    const gate = new HandshakeGate(limits);
    for (const stream of ['a', 'b', 'c']) gate.request(stream, frame, 0);
    const repeated = Uint8Array.of(2);
    gate.request('c', repeated, 0);
    gate.succeeded('a');
    gate.succeeded('b');

    expect(gate.release(1)).toEqual([{ stream: 'c', frame: repeated }]);
  });

  it('refuses all while too many recent ones have failed', () => {
    const gate = new HandshakeGate(limits);
    gate.request('a', frame, 0);
    gate.request('b', frame, 50);
    gate.failed('a');
    gate.failed('b');

    expect([gate.request('c', frame, 99), gate.request('d', frame, 100)]).toEqual(['refuse', 'pass']);
  });

  it('does not count a success in between as a reason to allow more failures', () => {
    const gate = new HandshakeGate(limits);
    gate.request('a', frame, 0);
    gate.failed('a');
    gate.request('b', frame, 1);
    gate.succeeded('b');
    gate.request('c', frame, 2);
    gate.failed('c');

    expect(gate.request('d', frame, 3)).toBe('refuse');
  });

  it('forgets handshakes that were never answered', () => {
    const gate = new HandshakeGate(limits);
    for (const stream of ['a', 'b', 'c']) gate.request(stream, frame, 0);

    expect([gate.release(99), gate.release(100)]).toEqual([[], held('c')]);
  });

  it('drops a stream that ended while it waited', () => {
    const gate = new HandshakeGate(limits);
    for (const stream of ['a', 'b', 'c', 'd']) gate.request(stream, frame, 0);
    gate.failed('c');
    gate.succeeded('a');

    expect(gate.release(1)).toEqual(held('d'));
  });
});
