import { describe, expect, it } from 'vitest';
import { startParams } from './start-options.ts';

describe('the directory of a command', () => {
  it.each(['/srv/project', 'file:///srv/project', 'FILE:///srv/project'])('may be spelled %s', (cwd) => {
    expect(startParams({ argv: ['ls'], cwd }, undefined).cwd.href).toBe('file:///srv/project');
  });

  it.each(['project', './project', ''])('is not %j, which the error names', (cwd) => {
    expect(() => startParams({ argv: ['ls'], cwd }, undefined)).toThrow(
      `cwd: expected an absolute path or a file: URI, not '${cwd}'`,
    );
  });
});
