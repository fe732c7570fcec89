import { beforeEach, describe, expect, it } from 'vitest';
import { Vigil } from './vigil.ts';

let clock: number;
let turns: (() => void)[];
let vigil: Vigil;

beforeEach(() => {
  clock = 1000;
  turns = [];
  vigil = new Vigil(
    () => clock,
    (callback) => turns.push(callback),
  );
});

/** Whether another turn was asked for in this one. */
function staysAwake(): boolean {
  for (const turn of turns.splice(0)) turn();
  return turns.length > 0;
}

/** Requests that come so long after the one before, with so many messages sent in between. */
function requests(count: number, { afterMs = 0.1, answers = 1 } = {}): void {
  for (let n = 0; n < count; n++) {
    clock += afterMs;
    vigil.heard();
    for (let answer = 0; answer < answers; answer++) vigil.said();
  }
}

describe('a vigil', () => {
  it('is kept for somebody who has sent three requests and more, each when the one before was answered', () => {
    requests(3);
    expect(staysAwake()).toBe(false);
    requests(1);
    expect(staysAwake()).toBe(true);
    requests(1);
    expect(staysAwake()).toBe(true);
  });

  it('ends when the next one does not come in time', () => {
    requests(4);
    clock += 0.4;
    expect(staysAwake()).toBe(true);
    clock += 0.2;
    expect(staysAwake()).toBe(false);
    requests(3);
    expect(staysAwake()).toBe(false);
  });

  it('ends while a request is worked on', () => {
    requests(4);
    requests(1, { answers: 0 });
    expect(staysAwake()).toBe(false);
    vigil.said();
    expect(staysAwake()).toBe(true);
  });

  it('ends when something else is said', () => {
    requests(4);
    expect(staysAwake()).toBe(true);
    vigil.said();
    expect(staysAwake()).toBe(false);
    requests(3);
    expect(staysAwake()).toBe(false);
  });

  it.each([
    ['do not wait for answers', { answers: 0 }],
    ['have more than one', { answers: 2 }],
    ['come from far away', { afterMs: 0.6 }],
    ['follow so closely that their sender must share the core', { afterMs: 0.03 }],
  ])('is not kept for requests that %s', (_what, how) => {
    requests(50, how);
    expect(staysAwake()).toBe(false);
  });

  it('takes one turn at a time, however long the chain', () => {
    requests(50);
    expect(turns).toHaveLength(1);
  });
});
