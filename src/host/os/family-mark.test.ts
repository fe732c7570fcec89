import { describe, expect, it } from 'vitest';
import { familyMark, ownSessions, PROCESS_MASK, SERVER_MASK, SESSION_MASK, SESSIONS } from './family-mark.ts';
import { claimServerNumber, FamilyNumbers } from './family-numbers.ts';

describe('a family mark', () => {
  it('is the tag, 22 bits server, 18 bits session and 20 bits process', () => {
    expect(familyMark(0, 0, 0)).toBe(0x7000_0000_0000_0000n);
    expect(familyMark(1, 1, 1)).toBe((7n << 60n) | (1n << 38n) | (1n << 20n) | 1n);
    expect(familyMark(2 ** 22 - 1, 2 ** 18 - 1, 2 ** 20 - 1)).toBe(0x7fff_ffff_ffff_ffffn);
  });

  it.each([
    [2 ** 22, 0, 0],
    [0, 2 ** 18, 0],
    [0, 0, 2 ** 20],
    [0, -1, 0],
  ])('has no room for larger numbers: %i, %i, %i', (server, session, process) => {
    expect(() => familyMark(server, session, process)).toThrow(/is not a (server|session|process) number/);
  });

  it('of our own never meets one of a client', () => {
    expect(Object.values(ownSessions).every((session) => session >= SESSIONS)).toBe(true);
  });

  it('is compared as a whole, by session or by server', () => {
    const mark = familyMark(5, 6, 7);
    expect(mark & PROCESS_MASK).toBe(mark);
    expect(mark & SESSION_MASK).toBe(familyMark(5, 6, 0));
    expect(mark & SERVER_MASK).toBe(familyMark(5, 0, 0));
  });
});

describe('the numbers of families', () => {
  it('ascend, start again at 0, and leave out those in use then', () => {
    const inUse = [[1, 2], [0]];
    const numbers = new FamilyNumbers(4, () => inUse.shift()!);
    expect(Array.from({ length: 8 }, () => numbers.take())).toEqual([0, 1, 2, 3, 0, 3, 1, 2]);
  });

  it('run out where all are in use', () => {
    const numbers = new FamilyNumbers(2, () => [0, 1]);
    expect([numbers.take(), numbers.take()]).toEqual([0, 1]);
    expect(() => numbers.take()).toThrow('all 2 family numbers are in use');
  });

  it('are never shared by two servers', () => {
    const claimed = Array.from({ length: 50 }, claimServerNumber);
    expect(new Set(claimed).size).toBe(50);
  });
});
