import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PausableTimer } from './pausable-timer.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('a timer that can be held', () => {
  it('counts only the time while it is not held', () => {
    const elapsed = vi.fn();
    const timer = new PausableTimer(100, elapsed);
    vi.advanceTimersByTime(60);
    const one = timer.hold();
    vi.advanceTimersByTime(1_000);
    const other = timer.hold();
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    vi.advanceTimersByTime(1_000);
    other[Symbol.dispose]();
    vi.advanceTimersByTime(39);
    expect(elapsed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(elapsed).toHaveBeenCalledOnce();
  });

  it('never elapses once it is disposed of', () => {
    const elapsed = vi.fn();
    const timer = new PausableTimer(100, elapsed);
    const held = timer.hold();
    timer[Symbol.dispose]();
    held[Symbol.dispose]();
    timer.hold()[Symbol.dispose]();
    vi.advanceTimersByTime(1_000);

    expect(elapsed).not.toHaveBeenCalled();
  });
});
