import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Answer, EscalationFixture, interceptions } from './fixture.ts';

const rules = `
prefix_rule(pattern = ["touch"], decision = "allow")
prefix_rule(pattern = ["mkdir"], decision = "prompt", justification = "it makes directories")
prefix_rule(pattern = ["uname"], decision = "forbidden", justification = "none of its business")
prefix_rule(pattern = ["id"], decision = "forbidden")
`;

const yes = { answer: (): Answer => ({ action: 'accept' }) };

describe.each(interceptions)('a program that is started (--intercept=%s)', (intercept) => {
  it('runs in the sandbox when no rule knows it', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });

    const result = await fixture.run('cp /etc/hostname copy; head -c 1 /etc/passwd');

    expect(result).toMatchObject({ exit_code: 0, stdout: 'r', sandbox_denied: false });
    expect(result.stderr).toMatch(/copy.*Read-only file system/);
  });

  it('runs outside when a rule allows it', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });

    expect(await fixture.run(`touch ${fixture.outside}/made; echo $?`)).toMatchObject({ output: '0\n' });
    expect(existsSync(join(fixture.outside, 'made'))).toBe(true);
  });

  it('runs outside when a rule has the user asked, who agrees', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules, ...yes });

    expect(await fixture.run(`mkdir '${fixture.outside}/a b'; echo $?`)).toMatchObject({ output: '0\n' });
    expect(existsSync(join(fixture.outside, 'a b'))).toBe(true);
    const [question] = fixture.peer.questions;
    expect(question?.message.split('\n')).toEqual([
      expect.stringMatching(
        `^Allow agent to run \`(/usr)?/bin/mkdir '${fixture.outside}/a b'\` in \`${fixture.work}\`\\?$`,
      ),
      'it makes directories',
      'It runs outside the sandbox.',
    ]);
    expect(question?.requestedSchema).toEqual({
      type: 'object',
      title: 'Execution Permission Request',
      properties: { reason: { type: 'string', description: expect.any(String) } },
    });
    expect(question?._meta).toHaveProperty('progressToken');
  });

  it.each([
    ['declines', { action: 'decline' }, 'User declined execution'],
    [
      'declines and says why',
      { action: 'decline', content: { reason: 'too early' } },
      'User declined execution: too early',
    ],
    ['dismisses the question', { action: 'cancel' }, 'User cancelled execution'],
  ] as const)('does not run when the user %s', async (_how, answer, text) => {
    await using fixture = await EscalationFixture.open({ intercept, rules, answer: () => answer });

    const { stdout, stderr } = await fixture.run(`mkdir ${fixture.outside}/made; echo $(($? != 0))`);

    expect(stdout).toBe('1\n');
    expect(stderr.split('\n')[0]).toBe(`Execution denied: ${text}`);
    expect(existsSync(join(fixture.outside, 'made'))).toBe(false);
  });

  it('does not run when it needs a question and the client cannot ask', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });

    const { stdout, stderr } = await fixture.run('mkdir made; echo $(($? != 0))');

    expect(stdout).toBe('1\n');
    expect(stderr.split('\n')[0]).toBe('Execution denied: approval required but the client cannot be asked');
  });

  it('does not run when asking fails', async () => {
    const answer = () => Promise.reject(new Error('the window is closed'));
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });

    const { stderr } = await fixture.run('mkdir made');

    expect(stderr.split('\n')[0]).toBe('Execution denied: approval required but the client cannot be asked');
  });

  it('does not run when a rule forbids it, and says why', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });

    const { stderr, sandbox_denied } = await fixture.run('uname; id; false');

    expect(stderr).toContain('Execution denied: Execution forbidden by policy: none of its business\n');
    expect(stderr).toContain('Execution denied: Execution forbidden by policy\n');
    expect(sandbox_denied).toBe(false);
  });

  it('is asked about when it looks dangerous, and stays in the sandbox then', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules, ...yes });
    writeFileSync(join(fixture.outside, 'precious'), '');

    const { stderr } = await fixture.run(
      `rm -r -f ${fixture.outside}/precious; env rm --force ${fixture.outside}/precious`,
    );

    expect(stderr).toMatch(/cannot remove.*Read-only file system/);
    expect(fixture.peer.questions.length).toBeGreaterThanOrEqual(2);
    expect(fixture.peer.questions[0]?.message).toMatch(/^Allow agent to run `.*\/rm -r -f [^\n]*$/);
    expect(fixture.peer.questions[1]?.message).toMatch(/^Allow agent to run `.*\/env rm --force [^\n]*$/);
  });

  it('is judged by its file, whatever it is called', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });

    const { stderr } = await fixture.run('(exec -a true uname); (exec -a touch id)');

    expect(stderr.match(/Execution denied/g)).toHaveLength(2);
  });

  it('is judged by its full path alone when paths are preserved', async () => {
    const named = `prefix_rule(pattern = ["/usr/bin/id"], decision = "forbidden", justification = "by path")
prefix_rule(pattern = ["/bin/id"], decision = "forbidden", justification = "by path")\n`;
    const shell = { preserveProgramPaths: true };
    await using fixture = await EscalationFixture.open({ intercept, rules: rules + named, shell });

    const { stdout, stderr } = await fixture.run('uname; id');

    expect(stdout).toBe('Linux\n');
    expect(stderr).toContain('forbidden by policy: by path');
  });

  it('has time that stands still while the user thinks', async () => {
    const answer = async (): Promise<Answer> => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return { action: 'accept' };
    };
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });

    const result = await fixture.run('mkdir a & mkdir b & wait; echo end', { timeout_ms: 1_200 });

    expect(result).toMatchObject({ timed_out: false, stdout: 'end\n' });
  });

  it('is judged by rules as they are when the call begins, and by the last that were right', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    const change = (text: string, time: number) => {
      writeFileSync(fixture.rulesFile, text);
      utimesSync(fixture.rulesFile, time, time);
    };

    change('prefix_rule(pattern = ["hostname"], decision = "forbidden")', 1);
    const changed = await fixture.run('hostname; uname');
    change('prefix_rule(pattern = [', 2);
    const broken = await fixture.run('hostname; uname');

    for (const { stdout, stderr } of [changed, broken]) {
      expect(stdout).toBe('Linux\n');
      expect(stderr).toContain('forbidden by policy');
    }
    expect(fixture.warnings.map(([event]) => event)).toEqual(['rules.not_read']);
  });

  it('is not asked about while a login shell starts up', async () => {
    const home = { HOME: '', PATH: process.env.PATH! };
    await using fixture = await EscalationFixture.open({ intercept, rules, ...yes, shell: { environment: home } });
    await fixture.allowWork();
    home.HOME = fixture.work;
    writeFileSync(join(fixture.work, '.bash_profile'), `mkdir ${fixture.work}/early; cd ${fixture.work}\n`);

    const { stdout } = await fixture.run('echo $?; mkdir late; ls; echo "$BASHPID $$"', { login: true });

    expect(stdout).toMatch(/^0\nearly\nlate\n(\d+) \1\n$/);
    expect(fixture.peer.questions.map(({ message }) => message.split('`')[1])).toEqual([
      expect.stringMatching(/mkdir late$/),
    ]);
  });
});

describe('a program that a descendant of the shell starts', () => {
  it.each([
    ['another shell', "sh -c 'uname; echo ok'"],
    ['find', 'find /etc/hostname -exec uname \\;; echo ok'],
    ['xargs', 'echo | xargs uname; echo ok'],
    ['Python', 'python3 -c \'import subprocess; subprocess.run(["uname"])\'; echo ok'],
    ['env without an environment', 'env -i /bin/sh -c uname; echo ok'],
  ])('is seen with --intercept=all: of %s', async (_what, script) => {
    await using fixture = await EscalationFixture.open({ intercept: 'all', rules });

    const { stdout, stderr } = await fixture.run(script);

    expect(stdout).toBe('ok\n');
    expect(stderr).toContain('Execution denied: Execution forbidden by policy: none of its business\n');
  });

  it('may leave the sandbox with --intercept=all', async () => {
    await using fixture = await EscalationFixture.open({ intercept: 'all', rules });
    const made = (name: string) => join(fixture.outside, name);

    await fixture.run(`sh -c 'touch ${made('a')}; true'; find /etc/hostname -exec touch ${made('b')} \\;`);
    await fixture.run(`python3 -c 'import subprocess; subprocess.run(["touch", "${made('c')}"], close_fds=True)'`);

    for (const name of ['a', 'b', 'c']) expect(readFileSync(made(name), 'utf8')).toBe('');
  });

  it('is not seen with --intercept=bash, but stays in the sandbox', async () => {
    await using fixture = await EscalationFixture.open({ intercept: 'bash', rules });

    const { stdout, stderr } = await fixture.run(`sh -c 'uname; touch ${fixture.outside}/made'`);

    expect(stdout).toBe('Linux\n');
    expect(stderr).toMatch(/Read-only file system/);
  });

  it('is seen by a patched Bash that the patched Bash starts', async () => {
    await using fixture = await EscalationFixture.open({ intercept: 'bash', rules });

    expect((await fixture.run('"$BASH" -c "\\"\\$BASH\\" -c uname; echo ok"')).output).toBe(
      'Execution denied: Execution forbidden by policy: none of its business\nok\n',
    );
  });

  it.each([
    ['unset BASH_EXEC_WRAPPER EXEC_WRAPPER; uname'],
    ['BASH_EXEC_WRAPPER= EXEC_WRAPPER= uname'],
    ['export BASH_EXEC_WRAPPER=/bin/true EXEC_WRAPPER=/bin/true; uname'],
    ['unset CODEX_ESCALATE_SOCKET; uname'],
    ['CODEX_ESCALATE_SOCKET=0 uname'],
  ])('cannot be hidden from it by changing variables: %s', async (script) => {
    await using fixture = await EscalationFixture.open({ intercept: 'bash', rules });

    expect(await fixture.run(script)).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('Execution denied'),
    });
  });
});
