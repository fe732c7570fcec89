import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ExecFixture, type Place, untilFile } from './fixture.ts';

const places: Place[] = ['here', 'server'];

describe.each(places)('exec_command and write_stdin, with commands run %s', (place) => {
  it('tell the output and the exit code of a command that ends', async () => {
    await using box = await ExecFixture.open(place);

    const { shown, facts, success } = await box.run('pwd; printf tail; exit 3');

    const tokens = Math.ceil((box.cwd.length + 5) / 4);
    expect(shown).toBe(
      `Chunk ID: ID\nWall time: TIME\nProcess exited with code 3\nOriginal token count: ${tokens}\nOutput:\n${box.cwd}\ntail`,
    );
    expect(facts).toMatchObject({ exit_code: 3, original_token_count: tokens, output: `${box.cwd}\ntail` });
    expect({ success, open: box.exec.sessions }).toEqual({ success: true, open: [] });
  });

  it('take arguments as the text of the model or as the value that a model library made of it', async () => {
    await using box = await ExecFixture.open(place);
    const args = { cmd: 'echo "one line"' };

    const results = [
      await box.exec.call('exec_command', JSON.stringify(args)),
      await box.exec.call('exec_command', args),
    ];

    for (const { text, success } of results)
      expect([success, text]).toEqual([true, expect.stringContaining('one line')]);
  });

  it('open a session for a command that goes on, and report each byte once', async () => {
    await using box = await ExecFixture.open(place);

    const first = await box.run(`echo one; ${untilFile('go')}; echo two; exit 5`, { yield_time_ms: 250 });
    expect(first.shown).toBe(
      'Chunk ID: ID\nWall time: TIME\nProcess running with session ID N\nOriginal token count: 1\nOutput:\none\n',
    );
    await writeFile(join(box.cwd, 'go'), '');
    const id = first.facts!.session_id!;
    const second = await box.poll(id);
    const third = await box.poll(id);

    expect(second.shown).toBe(
      'Chunk ID: ID\nWall time: TIME\nProcess exited with code 5\nOriginal token count: 1\nOutput:\ntwo\n',
    );
    expect(third).toMatchObject({ text: `write_stdin failed: Unknown process id ${id}`, success: false });
    expect(id).toBeGreaterThanOrEqual(1000);
    expect(id).toBeLessThan(100_000);
  });

  it('type into a terminal, control characters included', async () => {
    await using box = await ExecFixture.open(place);

    const first = await box.run('stty -echo; echo ready; read line; echo "got $line"; cat', {
      tty: true,
      yield_time_ms: 500,
    });
    const id = first.facts!.session_id!;
    expect(await box.shows(first, /ready/)).toBe('ready\r\n');
    const second = await box.type(id, 'hello\n', { yield_time_ms: 500 });
    expect(await box.shows(second, /got/)).toBe('got hello\r\n');
    const third = await box.type(id, '\u0004', { yield_time_ms: 10_000 });

    expect(third.facts).toMatchObject({ exit_code: 0, output: '' });
  });

  it('take nothing but an interrupt where there is no terminal', async () => {
    await using box = await ExecFixture.open(place);

    const first = await box.run("trap 'echo caught; exit 9' INT; echo armed; while :; do sleep 0.02; done", {
      yield_time_ms: 300,
    });
    const id = first.facts!.session_id!;
    await box.shows(first, /armed/);
    const refused = await Promise.all(['text', '\u0003\u0003', '\u0004'].map((chars) => box.type(id, chars)));
    const interrupted = await box.type(id, '\u0003', { yield_time_ms: 10_000 });

    const text =
      'write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open';
    expect(refused.map((result) => result.text)).toEqual([text, text, text]);
    expect(interrupted.facts).toMatchObject({ exit_code: 9, output: 'caught\n' });
  });

  it('show bytes that are no UTF-8 as replacement characters, and characters that came in pieces whole', async () => {
    await using box = await ExecFixture.open(place);

    const { output } = await box.run(String.raw`printf '\303'; sleep 0.2; printf '\251x\377y\342\202'`);

    expect(output).toBe('éx\ufffdy\ufffd');
  });

  it('pass on the message of a server that refuses to start a command', async () => {
    await using box = await ExecFixture.open(place);

    const { text, success } = await box.run('true', { workdir: 'missing "dir"' });

    expect({ text, success }).toEqual({
      text: 'exec_command failed: CreateProcess { message: "Rejected(\\"Failed to create unified exec process: exec-server rejected request (-32603): No such file or directory (os error 2)\\")" }',
      success: false,
    });
    expect(box.exec.sessions).toEqual([]);
  });

  it('set the variables that make programs print plainly, and the ids of the call', async () => {
    await using box = await ExecFixture.open(place, {
      threadId: '01a1df1c-ebfe-7680-9295-5cee72159264',
      version: '1.2.3',
    });

    const names = 'NO_COLOR TERM LANG LC_CTYPE LC_ALL COLORTERM PAGER GIT_PAGER GH_PAGER';
    const { output } = await box.run(
      `for name in ${names} CODEX_CI CODEX_THREAD_ID CODEX_SESSION_ID CODEX_TOOL_CALL_ID CODEX_VERSION; do eval "echo $name=\\$$name"; done; echo "$CODEX_SANDBOX_NETWORK_DISABLED"`,
    );

    expect(output.split('\n')).toEqual([
      'NO_COLOR=1',
      'TERM=dumb',
      'LANG=C.UTF-8',
      'LC_CTYPE=C.UTF-8',
      'LC_ALL=C.UTF-8',
      'COLORTERM=',
      'PAGER=cat',
      'GIT_PAGER=cat',
      'GH_PAGER=cat',
      'CODEX_CI=1',
      'CODEX_THREAD_ID=01a1df1c-ebfe-7680-9295-5cee72159264',
      'CODEX_SESSION_ID=01a1df1c-ebfe-7680-9295-5cee72159264',
      'CODEX_TOOL_CALL_ID=call_1',
      'CODEX_VERSION=1.2.3',
      '',
      '',
    ]);
  });
});

describe('a command that leaves a child behind', () => {
  const script = `(${untilFile('go')}; echo late) & echo done; exit 6`;

  it('is over with its exit on this machine, whatever its child does with the pipes', async () => {
    await using box = await ExecFixture.open('here');

    const { facts } = await box.run(script, { yield_time_ms: 30_000 });

    expect(facts).toMatchObject({ exit_code: 6, output: 'done\n' });
    expect(box.exec.sessions).toEqual([]);
  });

  it.each([true, false])('accepts input without an error and ignores it (in a terminal: %s)', async (tty) => {
    await using box = await ExecFixture.open('server');

    const child = `trap '' HUP; touch armed; ${untilFile('go')}; echo late`;
    const script = `(${child}) & ${untilFile('armed')}; echo done; exit 6`;
    const first = await box.run(script, { yield_time_ms: 300, tty });
    await box.shows(first, /done/);
    const id = first.facts!.session_id!;
    const typed = await box.type(id, 'text');
    await writeFile(join(box.cwd, 'go'), '');
    const last = await box.poll(id);

    expect(typed.facts).toMatchObject({ output: '', session_id: id });
    expect(last.facts).toMatchObject({ output: expect.stringMatching(/^late\r?\n$/), exit_code: 6 });
  });

  it('runs on a server until its output has ended', async () => {
    await using box = await ExecFixture.open('server');

    const first = await box.run(script, { yield_time_ms: 300 });
    await writeFile(join(box.cwd, 'go'), '');
    const second = await box.poll(first.facts!.session_id!);

    expect(first.facts).toMatchObject({ output: 'done\n', session_id: expect.any(Number) });
    expect(second.facts).toMatchObject({ output: 'late\n', exit_code: 6 });
  });
});
