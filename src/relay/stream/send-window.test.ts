import { describe, expect, it } from 'vitest';
import type { OutgoingFrame } from '../wire/frame-transport.ts';
import { SendWindow } from './send-window.ts';

const frameOf = (seq: number): OutgoingFrame => [Buffer.from('frame '), Buffer.from(`${seq}`)];
const seqs = (frames: readonly OutgoingFrame[]): number[] => frames.map(([, seq]) => Number(String(seq)));

function windowOf(count: number, now = 0): SendWindow {
  const window = new SendWindow();
  for (let seq = 0; seq < count; seq++) window.sent(seq, frameOf(seq), now);
  return window;
}

describe('the window of a sender', () => {
  it('has room for 64 frames, and again for those that are acknowledged', () => {
    const window = windowOf(63);
    expect(window.hasRoom).toBe(true);
    window.sent(63, frameOf(63), 0);
    expect([window.hasRoom, window.base]).toEqual([false, 0]);

    window.acknowledged(10, 0, 5);

    expect([window.hasRoom, window.base]).toEqual([true, 10]);
  });

  it('has room for less than 4 MiB', () => {
    const window = new SendWindow();
    let seq = 0;
    while (window.hasRoom) window.sent(seq++, [Buffer.alloc(100_000), Buffer.alloc(400_000)], 0);

    expect(seq).toBe(8);
  });

  it('sends the oldest frames again when they are overdue, then fewer and less often', () => {
    const window = windowOf(20);
    expect([seqs(window.overdue(499)), window.dueAt]).toEqual([[], 500]);

    const bursts = [500, 1500, 3500, 5500].map((now) => seqs(window.overdue(now)));

    expect(bursts).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], [0], [0], [0]]);
    expect(window.dueAt).toBe(7500);
  });

  it('waits for twice the round trip, at least 100 ms', () => {
    const fast = windowOf(1);
    fast.acknowledged(1, 0, 3);
    fast.sent(1, frameOf(1), 1000);
    const slow = windowOf(1);
    slow.acknowledged(1, 0, 400);
    slow.sent(1, frameOf(1), 1000);

    expect([fast.dueAt, slow.dueAt]).toEqual([1100, 1800]);
  });

  it('learns nothing about the round trip from a frame that was sent twice', () => {
    const window = windowOf(1);
    window.overdue(500);
    window.acknowledged(1, 0, 501);
    window.sent(1, frameOf(1), 1000);

    expect(window.dueAt).toBe(1500);
  });

  it('restarts its timer with every acknowledgement of more frames', () => {
    const window = windowOf(5);
    window.acknowledged(2, 0, 150);
    expect(window.dueAt).toBe(450);

    window.acknowledged(2, 0, 400);

    expect(window.dueAt).toBe(450);
  });

  it('sends a frame again at once, once, when three later ones have arrived', () => {
    const window = windowOf(10);

    expect(seqs(window.acknowledged(2, 0b0110, 10))).toEqual([]);
    expect(seqs(window.acknowledged(2, 0b1110, 10))).toEqual([2]);
    expect(seqs(window.acknowledged(2, 0b11110, 11))).toEqual([]);
    expect(seqs(window.acknowledged(2, 0b11010_1110, 12))).toEqual([]);
    expect(seqs(window.acknowledged(2, 0b1111_1110, 13))).toEqual([]);
  });

  it('does not repeat frames that the peer has', () => {
    const window = windowOf(4);
    window.acknowledged(1, 0b10, 10);

    expect([seqs(window.overdue(10_000)), seqs(window.unacknowledged(10_000))]).toEqual([
      [1, 3],
      [1, 3],
    ]);
  });

  it('gives up when a frame never arrives, but not when the peer has it and its application is busy', () => {
    const [lost, held] = [windowOf(1), windowOf(40)];
    held.acknowledged(0, 1, 0);
    for (let now = 0; now < 120_000; now += 2000) lost.overdue(now);
    for (let now = 0; now < 300_000; now += 2000) held.overdue(now);

    expect(() => lost.overdue(122_000)).toThrow('the peer acknowledges nothing any more');
  });

  it('refuses an acknowledgement of frames it never sent', () => {
    expect(() => windowOf(3).acknowledged(4, 0, 0)).toThrow('the peer acknowledges what was never sent');
    expect(windowOf(3).acknowledged(3, 0xffff_ffff, 0)).toEqual([]);
  });

  it('ignores an old acknowledgement', () => {
    const window = windowOf(10);
    window.acknowledged(8, 0, 10);

    expect([seqs(window.acknowledged(3, 0b1, 20)), window.base]).toEqual([[], 8]);
  });
});
