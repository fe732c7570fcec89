import { describe, expect, it } from 'vitest';
import { runCommand, StdioServer } from '../../support/command.ts';
import { gone, isAlive } from '../../support/proc.ts';

const hello = '{"id":1,"method":"initialize","params":{"clientName":"x"}}\n{"method":"initialized"}\n';

describe('a server on stdio', () => {
  it('serves until its input ends, then kills all processes and exits with 0', async () => {
    await using server = new StdioServer();
    await server.initialize();
    const process = await server.start({ argv: ['sh', '-c', 'trap "" HUP TERM; echo $$; while :; do sleep 1; done'] });
    const pid = Number(await process.printed('\n'));
    expect(isAlive(pid)).toBe(true);
    expect(await server.end()).toBe(0);
    await gone(pid);
    expect(await server.stderr).toBe('');
  });

  it('skips blank lines, takes either line end, and answers a last line without one', async () => {
    const input = `${hello}\n  \r\n{"id":2,"method":"environment/status"}\r\n\n{"id":3,"method":"environment/status"}`;
    const { code, stdout, stderr } = await runCommand(['--listen', 'stdio://'], {}, input);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: number; result: object });
    expect(answers.slice(1)).toEqual([2, 3].map((id) => ({ id, result: { status: 'ready' } })));
    expect([code, stderr, answers[0]!.id]).toEqual([0, '', 1]);
  });

  it('answers what is no message with id -1 and goes on', async () => {
    const { stdout } = await runCommand(['--listen', 'stdio'], {}, `nonsense\n${hello}`);
    const [first, second] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const message = expect.stringMatching(/^failed to parse JSON-RPC message from exec-server stdio: /);
    expect(first).toEqual({ id: -1, error: { code: -32600, message } });
    expect(second).toMatchObject({ id: 1 });
  });

  it('ends at a line of more than 64 MiB', async () => {
    await using server = new StdioServer();
    await server.initialize();
    server.raw(' '.repeat(65 * 1024 * 1024));
    expect(await server.closed).toBe(0);
  });

  it('delivers the output of many processes to a reader that takes its time, and prints nothing on stderr', async () => {
    await using server = new StdioServer();
    await server.initialize();
    const starts = Array.from({ length: 30 }, () => server.start({ argv: ['seq', '1', '100000'] }));
    for (const process of await Promise.all(starts)) {
      await process.closed();
      expect(process.bytes().length).toBe(588_895);
    }
    expect(await server.end()).toBe(0);
    expect(await server.stderr).toBe('');
  });

  it('ends when its reader is gone', async () => {
    await using server = new StdioServer();
    await server.initialize();
    const process = await server.start({ argv: ['sh', '-c', 'echo $$; exec sleep 900'] });
    const pid = Number(await process.printed('\n'));
    server.cut();
    await gone([pid, server.pid]);
  });
});
