import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Environments, localBackend, resultSchema, UnifiedExec } from '../../../src/agent/unified-exec/index.ts';
import { testHost } from '../../support/host.ts';
import { appeared, gone, uniqueSeconds } from '../../support/proc.ts';
import { ExecFixture, untilFile } from './fixture.ts';

describe('sessions', () => {
  it('are 64 at most: the least recently used is ended without an error', async () => {
    await using box = await ExecFixture.open('here');
    const seconds = uniqueSeconds();
    const open = async (cmd: string): Promise<number> => {
      const { facts } = await box.run(cmd, { yield_time_ms: 250 });
      return facts!.session_id!;
    };

    const oldest = await open(`exec sleep ${seconds}`);
    const [pid] = await appeared(seconds);
    const second = await open('sleep 1000');
    await Promise.all(Array.from({ length: 62 }, () => open('sleep 1000')));
    expect(box.exec.sessions).toHaveLength(64);
    await box.type(oldest, 'x'); // refused, but a use all the same
    await open('sleep 1000');

    const ids = box.exec.sessions.map(({ sessionId }) => sessionId);
    expect([ids.length, ids.includes(oldest), ids.includes(second)]).toEqual([64, true, false]);
    expect((await box.poll(second)).text).toBe(`write_stdin failed: Unknown process id ${second}`);
    await box.exec.terminate(oldest);
    await gone(pid!);
  });

  it('are listed, ended one by one, and ended all together', async () => {
    await using box = await ExecFixture.open('server');
    const [first, second] = [uniqueSeconds(), uniqueSeconds()];
    const { facts } = await box.run(`exec sleep ${first}`, { yield_time_ms: 250 });
    await box.run(`exec sleep ${second}`, { yield_time_ms: 250, tty: true });
    const pids = [...(await appeared(first)), ...(await appeared(second))];

    expect(box.exec.sessions).toMatchObject([
      { environmentId: 'box', cwd: box.cwd, tty: false, hasExited: false },
      { environmentId: 'box', cwd: box.cwd, tty: true, hasExited: false },
    ]);
    expect(await box.exec.terminate(facts!.session_id!)).toBe(true);
    expect(await box.exec.terminate(facts!.session_id!)).toBe(false);
    expect(await box.exec.clean()).toHaveLength(1);
    await gone(pids);
    expect(box.exec.sessions).toEqual([]);
  });

  it('do not outlive the tools, not even those that are about to begin', async () => {
    await using environments = new Environments({ box: localBackend({ host: testHost() }) });
    const exec = new UnifiedExec({ environments, allowLoginShell: false });
    const seconds = uniqueSeconds();

    const call = exec.execCommand({ cmd: `exec sleep ${seconds}` });
    const pids = await appeared(seconds);
    await exec[Symbol.asyncDispose]();
    await gone(pids);
    await call;

    expect(exec.sessions).toEqual([]);
  });

  it('let go of a call that waits for another one as soon as it is cancelled', async () => {
    await using box = await ExecFixture.open('here');
    const { facts } = await box.run(untilFile('go'), { yield_time_ms: 250 });
    const id = facts!.session_id!;
    const stop = new AbortController();

    const first = box.poll(id, { yield_time_ms: 300_000 });
    const second = box.call('write_stdin', { session_id: id }, stop.signal);
    stop.abort(new Error('cancelled'));

    await expect(second).rejects.toThrow('cancelled');
    await writeFile(join(box.cwd, 'go'), '');
    expect((await first).facts).toMatchObject({ exit_code: 0 });
  });

  it('serve one call at a time, and different ones side by side', async () => {
    await using box = await ExecFixture.open('server');
    const first = await box.run(`${untilFile('go')}; echo one; exit 1`, { yield_time_ms: 250 });
    const other = await box.run(`${untilFile('go')}; echo other; exit 2`, { yield_time_ms: 250 });
    const id = first.facts!.session_id!;

    const calls = [box.poll(id), box.poll(id), box.poll(other.facts!.session_id!)];
    await writeFile(join(box.cwd, 'go'), '');
    const [served, late, side] = await Promise.all(calls);

    expect(served!.facts).toMatchObject({ exit_code: 1, output: 'one\n' });
    expect(late!.text).toBe(`write_stdin failed: Unknown process id ${id}`);
    expect(side!.facts).toMatchObject({ exit_code: 2, output: 'other\n' });
  });

  it('end with the tools', async () => {
    const seconds = uniqueSeconds();
    const box = await ExecFixture.open('here');
    await box.run(`exec sleep ${seconds}`, { yield_time_ms: 250 });
    const pids = await appeared(seconds);

    await box[Symbol.asyncDispose]();

    await gone(pids);
  });
});

describe('calls', () => {
  it('of tools that do not exist are refused', async () => {
    await using box = await ExecFixture.open('here');
    expect(await box.exec.call('shell', '{}')).toEqual({ text: 'unsupported call: shell', success: false });
  });

  it('that cannot be read get a complaint', async () => {
    await using box = await ExecFixture.open('here');
    expect(await box.exec.call('exec_command', '{}')).toEqual({
      text: 'failed to parse function arguments: missing field `cmd` at line 1 column 2',
      success: false,
    });
  });

  it('report an unknown session before anything else about their arguments', async () => {
    await using box = await ExecFixture.open('here');
    const { text } = await box.exec.call('write_stdin', '{"session_id":7,"chars":5}');
    expect(text).toBe('write_stdin failed: Unknown process id 7');
  });

  it('name an environment that exists', async () => {
    await using box = await ExecFixture.open('here');
    expect((await box.run('true', { environment_id: 'nope' })).text).toBe('unknown turn environment id `nope`');
  });

  it('wait for an environment where there is none', async () => {
    const text =
      'No usable execution environment is available. Wait for an environment to become available before using this tool.';
    await using none = await ExecFixture.open('here', { backends: {} });
    const unreachable = Object.assign(localBackend({ host: testHost() }), {
      info: () => Promise.reject(new Error('refused')),
    });
    await using away = await ExecFixture.open('here', { backends: { box: unreachable } });

    expect([(await none.run('true')).text, (await away.run('true')).text]).toEqual([text, text]);
  });

  it('use login shells only where that is allowed', async () => {
    await using box = await ExecFixture.open('here', { allowLoginShell: false });
    expect((await box.run('true', { login: true })).text).toBe(
      'login shell is disabled by config; omit `login` or set it to false.',
    );
  });

  it('choose a shell on this machine, and the one of its own kind on another', async () => {
    await using here = await ExecFixture.open('here');
    await using there = await ExecFixture.open('server');
    const shell = (box: ExecFixture, name: string) => box.run('echo $0', { shell: name });

    expect((await shell(here, 'fish')).output).toBe('/bin/sh\n');
    expect((await shell(there, 'fish')).text).toMatch(/^environment `box` only supports `\w+`$/);
  });

  it('apply a patch instead of running it', async () => {
    await using box = await ExecFixture.open('server');
    const patch = (body: string) => `apply_patch <<'EOF'\n*** Begin Patch\n${body}\n*** End Patch\nEOF\n`;

    const added = await box.run(patch('*** Add File: a.txt\n+x'));
    const failed = await box.run(patch('*** Update File: nope.txt\n@@\n-a\n+b'));
    const words = await box.run("apply_patch 'bogus'");

    expect(added.shown).toMatch(/^Wall time: TIME\nOutput:\n.*Success\. Updated the following files:\nA a\.txt\n$/s);
    expect((await box.run('cat a.txt')).output).toBe('x\n');
    expect(failed).toMatchObject({ success: false, text: expect.stringMatching(/^apply_patch verification failed: /) });
    expect(words.facts).toMatchObject({ exit_code: 127 });
  });
});

describe('the tools as a model is told about them', () => {
  it('have the parameters that are of use', async () => {
    const both = { a: localBackend({ host: testHost() }), b: localBackend({ host: testHost() }) };
    await using plain = await ExecFixture.open('here', { allowLoginShell: true });
    await using rich = await ExecFixture.open('here', { backends: both, additionalPermissions: true });
    const parameters = (box: ExecFixture) =>
      box.exec.tools().map((tool) => Object.keys(tool.parameters.properties).join(' '));

    expect(parameters(plain)).toEqual([
      'cmd justification login max_output_tokens prefix_rule sandbox_permissions shell tty workdir yield_time_ms',
      'chars max_output_tokens session_id yield_time_ms',
    ]);
    expect(parameters(rich)[0]).toBe(
      'additional_permissions cmd environment_id justification max_output_tokens prefix_rule sandbox_permissions shell tty workdir yield_time_ms',
    );
  });

  it('answer with values of the shape they announce', async () => {
    await using box = await ExecFixture.open('here');
    const { facts } = await box.run('true');

    const { properties, required } = resultSchema;
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(facts!)));
    expect(Object.keys(facts!)).toEqual(expect.arrayContaining([...required!]));
  });
});
