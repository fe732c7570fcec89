import { describe, expect, it } from 'vitest';
import { CodexAppServer } from './codex-app-server.ts';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';
import { untilFile } from './workspace.ts';

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line-${from + index}\n`).join('');

describe('commands of the real client', () => {
  it('run in the workspace and report stdout, stderr and the exit code', async () => {
    await using rig = await Rig.start(CodexExec, { reach: 'variable' });

    const failing = await rig.model.exec('pwd; echo to-out; echo to-err >&2; exit 7');
    const silent = await rig.model.exec('true');
    await rig.finish();

    // The two pipes of one command are read independently, so only the order within each is certain.
    expect(failing).toMatchObject({ exitCode: 7, sessionId: null });
    expect(failing.output.split('\n').sort()).toEqual(['', 'to-err', 'to-out', rig.workspace.cwd].sort());
    expect(failing.output).toContain(`${rig.workspace.cwd}\nto-out\n`);
    expect(silent).toMatchObject({ exitCode: 0, output: '', tokens: 0 });
    expect(rig.client.exitCodes).toEqual([7, 0]);
    expect(rig.tap.authorizations).toEqual([undefined]);
    expect(rig.wire.requests('process/start')).toHaveLength(2);
  });

  it('are polled to their end when they outlive the first window, and lose or repeat nothing', async () => {
    await using rig = await Rig.start(CodexExec);

    const session = await rig.model.open(
      `for i in $(seq 1 15); do echo line-$i; done; ${untilFile('go')};
       for i in $(seq 16 30); do echo line-$i; sleep 0.02; done; exit 5`,
    );
    await session.shows(/line-15\n/);
    expect(session.output).toBe(lines(1, 15));
    await rig.workspace.write('go', '');
    expect(await session.end()).toEqual({ exitCode: 5, output: lines(1, 30) });
    const late = await rig.model.stdin(session.id, '', 500);
    expect(late.text).toContain(`Unknown process id ${session.id}`);
    await rig.finish();

    const events = ['process/output', 'process/exited', 'process/closed'].flatMap((m) => rig.wire.notifications(m));
    const numbers = events.map(({ params }) => params.seq ?? 0).sort((a, b) => a - b);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(rig.wire.notifications('process/exited').map(({ params }) => params.exitCode)).toEqual([5]);
    expect(rig.wire.notifications('process/closed')).toHaveLength(1);
  });

  it('may print 3 MB in one burst: all of it is streamed, and the model gets head, tail and a notice', async () => {
    await using rig = await Rig.start(CodexExec);

    const burst = await rig.model.exec("seq -f 'row-%09.0f abcdefghij' 1 125000; echo LAST-ROW", {
      yield_time_ms: 30_000,
      max_output_tokens: 2_000,
    });
    await rig.finish();

    const bytes = 125_000 * 25 + 9;
    const streamed = rig.wire
      .notifications('process/output')
      .map(({ params }) => Buffer.from(params.chunk ?? '', 'base64').length);
    expect(streamed.reduce((sum, length) => sum + length, 0)).toBe(bytes);
    expect(burst).toMatchObject({ exitCode: 0, tokens: Math.ceil(bytes / 4) });
    expect(burst.output).toMatch(/truncated output.*\nrow-000000001 abcdefghij\n.*\nLAST-ROW\n$/s);
    expect(burst.output.length).toBeLessThan(10_000);
  });

  it('that end by a signal report 128 plus its number', async () => {
    await using rig = await Rig.start(CodexExec);

    const killed = await rig.model.exec('echo before; kill -KILL $$; echo after');
    const terminated = await rig.model.exec('kill -TERM $$; sleep 60');
    await rig.finish();

    expect(killed).toMatchObject({ exitCode: 137, output: 'before\n' });
    expect(terminated).toMatchObject({ exitCode: 143, output: '' });
  });

  it('without a terminal accept no text but can be interrupted', async () => {
    await using rig = await Rig.start(CodexExec);

    const session = await rig.model.open("trap 'echo got-int; exit 9' INT; echo armed; while :; do sleep 0.05; done");
    await session.shows(/armed/);
    const refused = await rig.model.stdin(session.id, 'text\n', 500);
    await session.type('\u0003');
    const end = await session.end();
    await rig.finish();

    expect(refused.text).toContain('stdin is closed for this session');
    expect(end).toEqual({ exitCode: 9, output: 'armed\ngot-int\n' });
    expect(rig.wire.requests('process/signal').map(({ params }) => params.signal)).toEqual(['interrupt']);
  });

  it('left in the background survive the turn and are gone once the user cleans up', async () => {
    await using rig = await Rig.start(CodexAppServer);

    const session = await rig.model.open('echo pid $$; sleep 300');
    await session.shows(/pid \d+\n/);
    const pid = Number(/\d+/.exec(session.output)?.[0]);
    await rig.finish();

    expect(isAlive(pid)).toBe(true);
    const { data } = await rig.client.threadRequest('thread/backgroundTerminals/list');
    expect(data).toHaveLength(1);
    await rig.client.threadRequest('thread/backgroundTerminals/clean');
    await rig.wire.notified('process/exited', () => true, rig.signal);
    expect(isAlive(pid)).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // ESRCH: there is no such process
  }
}
