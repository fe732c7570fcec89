import { describe, expect, it } from 'vitest';
import { familyMark, PROCESS_MASK, SERVER_MASK, SESSION_MASK } from './family.ts';

describe('a family mark', () => {
  it('is the tag, 22 bits server, 18 bits session and 20 bits process', () => {
    expect(familyMark(0, 0, 0)).toBe(0x7000_0000_0000_0000n);
    expect(familyMark(1, 1, 1)).toBe((7n << 60n) | (1n << 38n) | (1n << 20n) | 1n);
    expect(familyMark(2 ** 22 - 1, 2 ** 18 - 1, 2 ** 20 - 1)).toBe(0x7fff_ffff_ffff_ffffn);
  });

  it('wraps around inside each field', () => {
    expect(familyMark(2 ** 22, 2 ** 18 + 1, 2 ** 20 + 2)).toBe(familyMark(0, 1, 2));
  });

  it('is compared as a whole, by session or by server', () => {
    const mark = familyMark(5, 6, 7);
    expect(mark & PROCESS_MASK).toBe(mark);
    expect(mark & SESSION_MASK).toBe(familyMark(5, 6, 0));
    expect(mark & SERVER_MASK).toBe(familyMark(5, 0, 0));
  });
});
