import { describe, expect, it } from 'vitest';
import type { Calls } from './calls.ts';
import { ProcessStdin } from './process-stdin.ts';

const closed = { request: async () => ({ status: 'stdinClosed' }), supports: () => true } as unknown as Calls;

describe('the missing stdin of a process', () => {
  it('is an error when it is written or closed, which says how to start the process with one', async () => {
    const stdin = new ProcessStdin('p1', 'none', closed);

    expect(() => stdin.requireCloseable()).toThrow('process p1 has no stdin: start it with pipeStdin or tty');
    await expect(stdin.write('x')).rejects.toThrow(
      'process p1 does not read stdin: it is closed, or the process was started without pipeStdin and tty',
    );
  });
});
