import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inputYieldMs, startYieldMs, YieldWindow } from './yield-window.ts';

describe('the window of a call', () => {
  it.each([
    [undefined, 10_000],
    [0, 250],
    [249, 250],
    [250, 250],
    [30_000, 30_000],
    [30_001, 30_000],
  ])('is for exec_command, asked for %s, %i ms', (asked, expected) => {
    expect(startYieldMs(asked)).toBe(expected);
  });

  it('is never shorter than ten seconds for exec_command on Windows', () => {
    expect([1, 20_000].map((asked) => startYieldMs(asked, 'windows'))).toEqual([10_000, 20_000]);
  });

  it.each([
    [undefined, 250],
    [0, 250],
    [249, 250],
    [30_001, 30_000],
  ])('is for input, asked for %s, %i ms', (asked, expected) => {
    expect(inputYieldMs(asked, true, 300_000)).toBe(expected);
  });

  it.each([
    [undefined, 300_000, 5000],
    [1, 300_000, 5000],
    [7000, 300_000, 7000],
    [400_000, 300_000, 300_000],
    [400_000, 500_000, 400_000],
    [7000, 1000, 5000],
  ])('is without input, asked for %s with at most %i, %i ms', (asked, longest, expected) => {
    expect(inputYieldMs(asked, false, longest)).toBe(expected);
  });
});

describe('the time of a window', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('stands still from the first question to the last answer', () => {
    const window = new YieldWindow(1000);
    vi.advanceTimersByTime(400);
    window.pause();
    window.pause();
    vi.advanceTimersByTime(5000);
    window.resume();
    vi.advanceTimersByTime(5000);
    const asking = window.remainingMs;
    window.resume();
    vi.advanceTimersByTime(100);

    expect([asking, window.remainingMs, window.elapsedMs]).toEqual([Number.POSITIVE_INFINITY, 500, 10_500]);
  });

  it('does not run out below nothing', () => {
    const window = new YieldWindow(10);
    vi.advanceTimersByTime(20);
    expect(window.remainingMs).toBe(0);
  });

  it('wakes those that wait when it runs again', async () => {
    const window = new YieldWindow(10);
    window.pause();
    const woken = window.changes.next();
    window.resume();
    await woken;
  });
});
