import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { NativeChild } from './native-child.ts';
import type { Reactor } from './reactor.ts';

const { ESRCH, EPERM, EACCES, EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN } = constants.errno;

/** The outcome of `join` if the kernel fails with an error. */
function joined(errno: number): string {
  const reactor = { addon: { join: () => errno }, add: () => {} } as unknown as Reactor;
  return new NativeChild(reactor, 1, 1, { io: { type: 'pipe', stdin: 'closed' }, mark: 0n }).join(1n);
}

describe('a child that is to get a family', () => {
  it.each([
    ['joined', [0]],
    ['ended', [ESRCH]],
    ['refused', [EPERM, EACCES]],
    ['failed', [EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN]],
  ])('is %s after %j: only what never works counts as refused', (outcome, errnos) => {
    expect(errnos.map(joined)).toEqual(errnos.map(() => outcome));
  });
});
