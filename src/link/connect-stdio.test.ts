import { describe, expect, it } from 'vitest';
import { decodeUtf8 } from '../base/index.ts';
import { stdio } from './connect-stdio.ts';

const never = new AbortController().signal;

describe('a stdio connector', () => {
  it('exchanges lines with the program it starts, in the environment it is given', async () => {
    const link = await stdio(['sh', '-c', 'read line; echo "$line $NAME"; cat'], {
      env: { NAME: 'x', PATH: '/bin:/usr/bin' },
    })(never);
    const received = new Promise<string>((resolve) => link.open((message) => resolve(decodeUtf8(message))));

    void link.send('{"id":1}');

    expect(await received).toBe('{"id":1} x');
    link.close();
    await link.closed;
  });

  it('is over when the program ends', async () => {
    const link = await stdio(['true'])(never);
    link.open(() => {});
    await link.closed;
  });

  it('kills a program that does not end with its input', async () => {
    const link = await stdio(['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'])(never);
    link.open(() => {});
    link.close();
    await link.closed;
  });

  it('reports a program that cannot be started, and cannot be resumed', async () => {
    const connect = stdio(['/no/such/program']);

    await expect(connect(never)).rejects.toThrow(
      'cannot start /no/such/program: command or directory not found (ENOENT)',
    );
    expect(connect.resumable).toBe(false);
  });
});
