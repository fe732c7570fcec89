import { describe, expect, it } from 'vitest';
import { afterExit, afterFailure, running } from './process-facts.ts';

describe('what is known about a process', () => {
  it('is its exit code and whether the sandbox stopped it', () => {
    expect(afterExit(running, 1, true)).toEqual({
      hasExited: true,
      exitCode: 1,
      failureMessage: undefined,
      sandboxDenied: true,
    });
  });

  it('may be that it has exited and nothing else, until the code is known', () => {
    const unknown = afterExit(running, undefined, false);
    expect([unknown.exitCode, afterExit(unknown, 3, false).exitCode]).toEqual([undefined, 3]);
  });

  it('is the first failure, for good', () => {
    const failed = afterFailure(afterFailure(running, 'first'), 'second');
    expect([failed, afterExit(failed, 0, false)]).toEqual([
      { ...running, hasExited: true, failureMessage: 'first' },
      failed,
    ]);
  });
});
