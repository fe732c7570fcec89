import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeepAlive } from './keep-alive.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch() {
  const seen: string[] = [];
  const start = Date.now();
  const note = (what: string) => () => void seen.push(`${what} at ${(Date.now() - start) / 1000} s`);
  return { seen, alive: new KeepAlive(note('ping'), note('gave up'), 30_000) };
}

describe('keeping a connection alive', () => {
  it('pings in every interval while there are answers', () => {
    const { seen, alive } = watch();
    for (let n = 0; n < 3; n++) {
      vi.advanceTimersByTime(30_000);
      alive.answered();
    }

    expect(seen).toEqual(['ping at 30 s', 'ping at 60 s', 'ping at 90 s']);
  });

  it('pings once and gives up two intervals later when there is no answer', () => {
    const { seen } = watch();
    vi.advanceTimersByTime(90_000);

    expect(seen).toEqual(['ping at 30 s', 'gave up at 90 s']);
  });

  it('sends no ping, and ends no connection, while the pong would not be read', () => {
    const { seen, alive } = watch();
    vi.advanceTimersByTime(30_000);
    alive.pause();
    vi.advanceTimersByTime(300_000);
    alive.resume();
    vi.advanceTimersByTime(90_000);

    expect(seen).toEqual(['ping at 30 s', 'ping at 360 s', 'gave up at 420 s']);
  });

  it('stops when it is disposed of', () => {
    const { seen, alive } = watch();
    vi.advanceTimersByTime(30_000);
    alive[Symbol.dispose]();
    vi.advanceTimersByTime(300_000);

    expect(seen).toEqual(['ping at 30 s']);
  });
});
