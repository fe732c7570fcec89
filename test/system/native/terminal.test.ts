import { describe, expect, it } from 'vitest';
import { finish, outputMatching, run, start, terminal } from './fixture.ts';

describe('a terminal', () => {
  it('has the size it was given and is the controlling terminal', async () => {
    const { pty, status } = await run(['sh', '-c', 'tty; stty size; echo controlled > /dev/tty'], {
      io: { type: 'pty', rows: 33, cols: 101 },
    });
    expect(pty).toMatch(/^\/dev\/pts\/\d+\r\n33 101\r\ncontrolled\r\n$/);
    expect(status).toEqual({ code: 0 });
  });

  it('tells its process about a new size', async () => {
    const child = start(['bash', '-c', 'trap "stty size; exit" WINCH; echo ready; while :; do sleep 0.01; done'], {
      io: terminal,
    });
    await outputMatching(child, /ready/);
    child.resize(50, 120);
    await outputMatching(child, /50 120/);
    expect(await child.exited).toEqual({ code: 0 });
  });

  it('echoes what is typed and hands over whole lines', async () => {
    const child = start(['head', '-n', '1'], { io: terminal });
    await child.stdin!.write(Buffer.from('hello\n'));
    expect((await finish(child)).pty).toBe('hello\r\nhello\r\n');
  });

  it('shows its mode and its end-of-file character', async () => {
    const child = start(['sh', '-c', 'stty -icanon -echo eof ^E; echo ready; cat > /dev/null'], { io: terminal });
    await outputMatching(child, /ready/);
    expect(child.terminalMode()).toEqual({ canonical: false, echo: false, eof: 5 });
    await child[Symbol.asyncDispose]();
    const plain = start(['cat'], { io: terminal });
    expect(plain.terminalMode()).toEqual({ canonical: true, echo: true, eof: 4 });
    await plain[Symbol.asyncDispose]();
  });

  it('ends the input of a process when the end-of-file character is typed', async () => {
    const child = start(['cat'], { io: terminal });
    await child.stdin!.write(Buffer.from([child.terminalMode().eof]));
    expect((await finish(child)).status).toEqual({ code: 0 });
  });

  it('turns an interrupt character into a signal', async () => {
    const child = start(['sh', '-c', 'echo ready; exec sleep 600'], { io: terminal });
    await outputMatching(child, /ready/);
    await child.stdin!.write(Buffer.from('\x03'));
    expect(await child.exited).toEqual({ signal: 2 });
  });

  it('hangs up when its output is closed', async () => {
    const child = start(['sleep', '600'], { io: terminal });
    child.closeOutputs();
    expect(await child.exited).toEqual({ signal: 1 });
    await expect(child.stdin!.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'EPIPE' });
  });

  it('takes a megabyte of input in raw mode without losing any', async () => {
    const child = start(['sh', '-c', 'stty raw -echo; echo ready; head -c 1048576 | cksum'], { io: terminal });
    const input = Buffer.alloc(1_048_576, 'terminal input\n');
    await outputMatching(child, /ready/);
    await child.stdin!.write(input);
    const { stdout } = await run(['sh', '-c', 'yes "terminal input" | head -c 1048576 | cksum']);
    expect((await outputMatching(child, /\d+ 1048576/))[0]).toBe(stdout.trim());
  });

  it('reports the end of the process although its output is not read', async () => {
    const child = start(['sh', '-c', 'echo unread; exit 5'], { io: terminal });
    expect(await child.exited).toEqual({ code: 5 });
  });
});
