import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gone } from '../../support/proc.ts';
import { isAlive } from '../native/fixture.ts';
import { type Answer, countExecs, EscalationFixture, interceptions, outcomesOfTrue } from './fixture.ts';

const rules = `
prefix_rule(pattern = ["sleep"])
prefix_rule(pattern = ["python3"])
prefix_rule(pattern = ["mkdir"], decision = "prompt")
`;

/** Resolves when a fifo is written to; what was written. */
const said = async (fixture: EscalationFixture, fifo: string): Promise<string> =>
  (await readFile(join(fixture.work, fifo), 'utf8')).trim();

describe.each(interceptions)('a call of the shell tool (--intercept=%s)', (intercept) => {
  it('gives the exit code and both streams in the order they were written', async () => {
    await using fixture = await EscalationFixture.open({ intercept });
    const script = 'for n in 1 2 3 4 5; do echo e$n >&2; echo o$n; done; exit 3';

    const args = { command: script, workdir: fixture.work, login: false };
    const result = await fixture.peer.request('tools/call', { name: 'shell', arguments: args });

    const structured = {
      exit_code: 3,
      output: [1, 2, 3, 4, 5].map((n) => `e${n}\no${n}\n`).join(''),
      duration: { secs: expect.any(Number), nanos: expect.any(Number) },
      timed_out: false,
      stdout: 'o1\no2\no3\no4\no5\n',
      stderr: 'e1\ne2\ne3\ne4\ne5\n',
      truncated: false,
      sandbox_denied: false,
    };
    expect(result).toEqual({
      content: [{ type: 'text', text: expect.any(String) }],
      structuredContent: structured,
      isError: false,
    });
    const [{ text }] = result.content as [{ text: string }];
    expect(JSON.parse(text)).toEqual(structured);
    expect(Object.keys(JSON.parse(text)).slice(0, 4)).toEqual(['exit_code', 'output', 'duration', 'timed_out']);
  });

  it('shows bytes that are no text, and keeps the ends of too much output', async () => {
    await using fixture = await EscalationFixture.open({ intercept });

    expect((await fixture.run("printf 'a\\377b'; printf '\\303'; printf '\\244' >&2; printf '\\244'")).stdout).toBe(
      'a\ufffdbä',
    );
    const { output, truncated } = await fixture.run("printf begin; head -c 3000000 /dev/zero | tr '\\0' x; printf end");
    expect(truncated).toBe(true);
    expect(output).toMatch(/^beginx+\n\[\d+ characters left out\]\nx+end$/);
    expect(output.length).toBeLessThan(3_000_000);
  });

  it('has nothing to read, no network and says so', async () => {
    await using fixture = await EscalationFixture.open({ intercept });

    const { stdout } = await fixture.run('cat; echo $CODEX_SANDBOX_NETWORK_DISABLED; pwd');

    expect(stdout).toBe(`1\n${fixture.work}\n`);
  });

  it('ends in time with all it has started, inside and outside, and keeps the output', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork();
    await fixture.run('mkfifo pids');
    const stubborn =
      'import os, signal, time; signal.signal(15, 1); open("pids", "w").write(str(os.getpid())); time.sleep(600)';

    const call = fixture.run(
      `echo begun; sleep 601 & (trap '' TERM; tail -f /dev/null) & /usr/bin/python3 -c '${stubborn}'`,
      {
        timeout_ms: 3_000,
      },
    );
    const pid = Number(await said(fixture, 'pids'));
    const result = await call;

    expect(result).toMatchObject({ exit_code: 124, timed_out: true, stdout: 'begun\n', sandbox_denied: false });
    await gone(pid);
  });

  it('is asked to end before it is made to', async () => {
    await using fixture = await EscalationFixture.open({ intercept });

    const result = await fixture.run("trap 'echo bye; exit 5' TERM; echo begun; while :; do :; done", {
      timeout_ms: 500,
    });

    expect(result).toMatchObject({ exit_code: 124, timed_out: true, output: 'begun\nbye\n' });
  });

  it('does not wait for what stays in the background, and ends it', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork({ type: 'danger-full-access' });

    const result = await fixture.run('sleep 600 & tail -f /dev/null & echo started; echo $! > pid');

    expect(result).toMatchObject({ output: 'started\n', exit_code: 0, timed_out: false });
    await gone(Number(readFileSync(join(fixture.work, 'pid'), 'utf8')));
  });

  it('ends in time when it has stopped what is to end it', async () => {
    await using fixture = await EscalationFixture.open({ intercept });
    await fixture.allowWork({ type: 'danger-full-access' });

    const result = await fixture.run('echo $$; kill -STOP $PPID; sleep 600', { timeout_ms: 300 });

    expect(result).toMatchObject({ timed_out: true, exit_code: 124 });
    expect(await isAlive(Number(result.stdout))).toBe(false);
  });

  it('is ended when the client cancels it, and is not answered', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork();
    await fixture.run('mkfifo pids');
    const args = { command: 'echo $$ > pids; sleep 600; echo > survived', workdir: fixture.work, login: false };

    const { id, answer } = fixture.peer.begin('tools/call', { name: 'shell', arguments: args });
    let isAnswered = false;
    void answer.finally(() => (isAnswered = true)).catch(() => undefined);
    await said(fixture, 'pids');
    fixture.peer.send({ method: 'notifications/cancelled', params: { requestId: id } });

    // A call that comes later sees that the earlier is over: the fifo has no reader any more.
    expect((await fixture.run('ps -A -o args | grep "slee[p] 600"; echo $?')).stdout).toBe('1\n');
    expect(isAnswered).toBe(false);
    expect(existsSync(join(fixture.work, 'survived'))).toBe(false);
  });

  it('starts nothing by an answer that comes after it was cancelled', async () => {
    let agree!: (answer: Answer) => void;
    const answer = () => new Promise<Answer>((resolve) => (agree = resolve));
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });
    const args = { command: `mkdir ${fixture.outside}/made`, workdir: fixture.work, login: false };

    const { id } = fixture.peer.begin('tools/call', { name: 'shell', arguments: args });
    await fixture.peer.until(() => fixture.peer.questions.length > 0);
    fixture.peer.send({ method: 'notifications/cancelled', params: { requestId: id } });
    await fixture.peer.until(() =>
      fixture.peer.notifications.some(({ method }) => method === 'notifications/cancelled'),
    );
    agree({ action: 'accept' });

    expect((await fixture.run('echo still here')).stdout).toBe('still here\n');
    expect(existsSync(join(fixture.outside, 'made'))).toBe(false);
  });

  it('may overlap with others', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork();
    await fixture.run('mkfifo a b');

    const results = await Promise.all([
      fixture.run('echo one > a; cat b'),
      fixture.run('cat a; echo two > b'),
      ...Array.from({ length: 6 }, (_, n) => fixture.run(`/bin/echo ${n}`)),
    ]);

    expect(results.map(({ stdout }) => stdout.trim())).toEqual(['two', 'one', '0', '1', '2', '3', '4', '5']);
  });

  it('asks about several programs at once', async () => {
    const answers: ((answer: Answer) => void)[] = [];
    const answer = () => new Promise<Answer>((resolve) => answers.push(resolve));
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });

    const call = fixture.run(`mkdir ${fixture.outside}/a & mkdir ${fixture.outside}/b & wait; echo end`);
    await fixture.peer.until(() => fixture.peer.questions.length === 2);
    for (const agree of answers.reverse()) agree({ action: 'accept' });

    expect(await call).toMatchObject({ output: 'end\n' });
  });

  it('takes back a question whose program is gone', async () => {
    await using fixture = await EscalationFixture.open({
      intercept,
      rules,
      answer: () => new Promise<Answer>(() => undefined),
    });
    await fixture.allowWork();
    await fixture.run('mkfifo go end');

    const call = fixture.run('mkdir x & read -r _ < go; kill -KILL $!; wait $!; echo $?; read -r _ < end');
    await fixture.peer.until(() => fixture.peer.questions.length > 0);
    await writeFile(join(fixture.work, 'go'), 'go\n');
    await fixture.peer.until(() =>
      fixture.peer.notifications.some(({ method }) => method === 'notifications/cancelled'),
    );
    await writeFile(join(fixture.work, 'end'), 'end\n');

    expect((await call).stdout).toBe('137\n');
  });

  it('says what is wrong with where it is to run', async () => {
    await using fixture = await EscalationFixture.open({ intercept });

    await expect(fixture.peer.shell('pwd', '/nowhere/at/all')).rejects.toMatchObject({
      code: -32_603,
      message: 'No such file or directory (os error 2)',
      data: { workdir: '/nowhere/at/all' },
    });
  });
});

describe.each(interceptions)('a loop of execs (--intercept=%s)', (intercept) => {
  it.each(outcomesOfTrue)('loses no exec, one after the other or at once: %s', async (outcome, rules) => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    const times = { sequential: 300, parallel: 100 };

    expect(await countExecs(fixture, outcome, times)).toEqual(times);
  });
});

describe('an escalated script', () => {
  it.each(interceptions)(
    'works without an interpreter line and by a relative path (--intercept=%s)',
    async (intercept) => {
      await using fixture = await EscalationFixture.open({ intercept });
      const tool = join(fixture.work, 'tool');
      writeFileSync(fixture.rulesFile, `prefix_rule(pattern = ["${tool}"])`);
      writeFileSync(tool, `echo "$0 $1"; : > ${fixture.outside}/made\n`, { mode: 0o755 });

      expect(await fixture.run("./tool 'a b'")).toMatchObject({ output: './tool a b\n' });
      expect(existsSync(join(fixture.outside, 'made'))).toBe(true);
    },
  );
});
