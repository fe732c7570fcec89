import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CreditQueue, CreditReturn } from './credit-queue.ts';
import { QueueBudget } from './queue-budget.ts';

describe('a credit queue', () => {
  it('keeps the order, never has more on its way than the window and one frame, and ends empty', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ push: fc.integer({ min: 1, max: 50 }) }),
        fc.record({ written: fc.integer({ min: 1, max: 20 }) }),
      ),
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 60 }), (plan, window, portion) => {
        const sent: number[] = [];
        let travelling = 0;
        let pushed = 0;
        const unwritten: number[] = [];
        const queue = new CreditQueue(window, (frame) => {
          expect(travelling).toBeLessThan(window);
          travelling += frame.length;
          sent.push(frame[0]! + frame[1]! * 256);
          unwritten.push(frame.length);
        });
        const returns = new CreditReturn(Math.min(portion, window));
        const write = (count: number): void => {
          for (const length of unwritten.splice(0, count)) {
            const due = returns.written(length);
            travelling -= due;
            if (due > 0) queue.credit(due);
          }
        };
        for (const step of plan) {
          if ('written' in step) write(step.written);
          else queue.push(Uint8Array.from([pushed % 256, pushed++ >> 8, ...new Uint8Array(step.push)]));
        }
        while (unwritten.length > 0) write(1);

        expect(sent).toEqual(Array.from({ length: pushed }, (_, n) => n));
        expect(queue.bytes).toBe(0);
      }),
    );
  });

  it('sends waiting frames when the window is reset, because those on their way were lost', () => {
    const sent: number[] = [];
    const queue = new CreditQueue(10, (frame) => sent.push(frame.length));
    for (const length of [10, 6, 6, 6]) queue.push(new Uint8Array(length));
    expect([sent, queue.bytes]).toEqual([[10], 18]);

    queue.resetWindow();

    expect([sent, queue.bytes]).toEqual([[10, 6, 6], 6]);
  });

  it('is empty after clearing', () => {
    const sent: number[] = [];
    const queue = new CreditQueue(1, (frame) => sent.push(frame.length));
    for (const length of [1, 2, 3]) queue.push(new Uint8Array(length));
    queue.clear();
    queue.credit(100);
    queue.push(new Uint8Array(4));

    expect([sent, queue.bytes]).toEqual([[1, 4], 0]);
  });
});

describe('the memory of a node', () => {
  it('makes sockets that fill it wait until an eighth is free', () => {
    const budget = new QueueBudget(800);
    const resumed: string[] = [];
    budget.change(801);
    expect(budget.exhausted).toBe(true);
    budget.wait(() => resumed.push('one'));
    budget.change(-100);
    expect([budget.exhausted, resumed]).toEqual([false, []]);

    budget.change(-1);

    expect([resumed, budget.used]).toEqual([['one'], 700]);
  });
});
