import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../support/digest.ts';
import { bytesOf, finish, outputMatching, start } from './fixture.ts';

const open = { type: 'pipe', stdin: 'open' } as const;

describe('input', () => {
  it('of 8 MiB comes back from cat unchanged', async () => {
    const input = randomBytes(8 * 1024 * 1024);
    const child = start(['cat'], { io: open });
    const feed = async () => {
      for (let at = 0; at < input.length; at += 100_000) await child.stdin!.write(input.subarray(at, at + 100_000));
      child.stdin!.end();
    };
    const hash = createHash('sha256');
    const collect = async () => {
      for await (const event of child.events) hash.update(bytesOf(event));
    };
    await Promise.all([feed(), collect()]);
    expect(hash.digest('hex')).toBe(sha256(input));
  });

  it('written in one piece is complete when it ends at once', async () => {
    const child = start(['wc', '-c'], { io: open });
    const written = child.stdin!.write(Buffer.alloc(3_000_000));
    child.stdin!.end();
    expect((await finish(child)).stdout.trim()).toBe('3000000');
    await written;
  });

  it('makes the writer wait while the process does not read', async () => {
    const child = start(['sh', '-c', 'read go < /dev/null; echo ready; exec sleep 600'], { io: open });
    await outputMatching(child, /ready/);
    const writing = child.stdin!.write(Buffer.alloc(2 * 1024 * 1024)).then(
      () => 'written',
      (error: { code: string }) => error.code,
    );
    await child[Symbol.asyncDispose]();
    expect(await writing).toBe('EPIPE');
  });

  it('is refused with EPIPE when the process has closed it', async () => {
    const child = start(['sh', '-c', 'exec <&-; echo closed; exec sleep 600'], { io: open });
    await outputMatching(child, /closed/);
    await expect(child.stdin!.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'EPIPE', errno: 32 });
    await expect(child.stdin!.write(Buffer.from('y'))).rejects.toMatchObject({ code: 'EPIPE' });
    await child[Symbol.asyncDispose]();
  });

  it('is refused with EPIPE when the process closes it in the middle', async () => {
    const child = start(['sh', '-c', 'head -c 100000 > /dev/null; exec <&-; exec sleep 600'], { io: open });
    await expect(child.stdin!.write(Buffer.alloc(4 * 1024 * 1024))).rejects.toMatchObject({ code: 'EPIPE' });
    await child[Symbol.asyncDispose]();
  });

  it('is refused after its end and after the end of the process', async () => {
    const child = start(['cat'], { io: open });
    child.stdin!.end();
    await expect(child.stdin!.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'EPIPE' });
    await finish(child);
    child.stdin!.end();
    await expect(child.stdin!.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'EPIPE' });
  });

  it('is absent when it was closed from the start', async () => {
    const child = start(['true']);
    expect(child.stdin).toBeUndefined();
    await child.exited;
  });
});
