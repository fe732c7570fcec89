import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Changes } from './changes.ts';

describe('waiting for a change', () => {
  it('ends for all waiters at the next notification', async () => {
    const changes = new Changes();
    const waiting = Promise.all([changes.next(), changes.next({ timeoutMs: 60_000 })]);

    changes.notify();

    await waiting;
  });

  it('does not see notifications from before', async () => {
    const changes = new Changes();
    changes.notify();
    const order: string[] = [];
    const waiting = changes.next().then(() => order.push('woken'));
    await Promise.resolve();

    order.push('notified');
    changes.notify();
    await waiting;

    expect(order).toEqual(['notified', 'woken']);
  });

  it('ends at the deadline', async () => {
    await new Changes().next({ timeoutMs: 1 });
  });

  it('ends when the signal aborts, also when it did so before', async () => {
    const changes = new Changes();
    const stop = new AbortController();
    const waiting = changes.next({ signal: stop.signal, timeoutMs: 60_000 });

    stop.abort();

    await waiting;
    await changes.next({ signal: stop.signal });
  });

  it('lasts until a notification when the deadline is further away than timers reach', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const changes = new Changes();
    const order: string[] = [];
    const waiting = changes.next({ timeoutMs: 2 ** 40 }).then(() => order.push('woken'));
    await vi.advanceTimersByTimeAsync(86_400_000);

    order.push('notified');
    changes.notify();
    await waiting;

    expect(order).toEqual(['notified', 'woken']);
  });

  it('can begin again inside a notification without being woken by it', async () => {
    const changes = new Changes();
    let rounds = 0;
    const looping = (async () => {
      while (rounds < 3) {
        await changes.next();
        rounds++;
      }
    })();

    for (let notified = 1; notified <= 3; notified++) {
      changes.notify();
      await new Promise((resolve) => setImmediate(resolve));
      expect(rounds).toBe(notified);
    }
    await looping;
  });
});
