import { describe, expect, it } from 'vitest';
import { type Deferred, deferred } from '../base/index.ts';
import { AnswerQueue } from './answer-queue.ts';

describe('a queue of answers', () => {
  it('makes an answer at once when the link has room', () => {
    const queue = new AnswerQueue(1);
    const made: number[] = [];
    for (const n of [1, 2, 3]) expect(queue.run(() => void made.push(n))).toBeUndefined();
    expect(made).toEqual([1, 2, 3]);
  });

  it('makes as many answers as it is wide while the link is full, and the others in order as there is room', async () => {
    const queue = new AnswerQueue(2);
    const made: number[] = [];
    const links: Deferred<void>[] = [];
    const answer = (n: number) => () => {
      made.push(n);
      links.push(deferred());
      return links.at(-1)!.promise;
    };
    const done = [1, 2, 3, 4].map((n) => queue.run(answer(n)));
    expect(made).toEqual([1, 2]);
    links[1]!.resolve();
    await done[1];
    expect(made).toEqual([1, 2, 3]);
    for (const link of links) link.resolve();
    await done[2];
    for (const link of links) link.resolve();
    await Promise.all(done);
    expect(made).toEqual([1, 2, 3, 4]);
  });

  it('goes on after an answer that failed', async () => {
    const queue = new AnswerQueue(1);
    const failed = queue.run(() => Promise.reject(new Error('lost')));
    const made = queue.run(() => undefined);
    await expect(failed).rejects.toThrow('lost');
    await made;
  });
});
