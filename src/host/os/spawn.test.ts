import { describe, expect, it } from 'vitest';
import { candidates } from './spawn.ts';

describe('the candidates for a program', () => {
  it('are the program itself when it names a path', () => {
    expect(candidates('./tool', '/bin:/usr/bin')).toEqual(['./tool']);
    expect(candidates('', '/bin')).toEqual(['']);
  });

  it('follow PATH in order, an empty element being the working directory', () => {
    expect(candidates('tool', '/a::/b:')).toEqual(['/a/tool', 'tool', '/b/tool', 'tool']);
    expect(candidates('tool', '')).toEqual(['tool']);
  });

  it('are in the default directories without a PATH', () => {
    expect(candidates('tool')).toEqual(['/usr/local/bin/tool', '/bin/tool', '/usr/bin/tool']);
  });
});
