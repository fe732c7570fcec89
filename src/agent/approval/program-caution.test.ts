import { describe, expect, it } from 'vitest';
import { programCaution } from './program-caution.ts';

describe('a rule for a relative path', () => {
  const isWritable = (path: string) => path.startsWith('/work/');
  const judged = (script: string, cwd: string) =>
    programCaution({ argv: ['/bin/bash', '-lc', script], cwd, isWritable });

  it('does not speak for a file that commands can write', () => {
    expect(judged('./run.sh', '/work')).toBe('commands can write /work/run.sh');
    expect(judged('ls && sub/run.sh now', '/work/deep')).toBe('commands can write /work/deep/sub/run.sh');
    expect(judged('cd /work && ./run.sh', '/opt')).toBe('./run.sh is looked up in another directory');
  });

  it('speaks for others, as one for an absolute path or a name does', () => {
    expect(['./run.sh', '/work/run.sh', 'cd /work && ls'].map((script) => judged(script, '/opt'))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
