import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Answer, EscalationFixture, interceptions, patchedBash } from './fixture.ts';

const rules = `
prefix_rule(pattern = ["touch"])
prefix_rule(pattern = ["printenv"])
prefix_rule(pattern = ["env"])
prefix_rule(pattern = ["tool"], decision = "prompt")
prefix_rule(pattern = ["sh"], decision = "prompt")
`;

const special = (kind: string) => ({ type: 'special', value: { kind } });
const answer = (): Answer => ({ action: 'accept' });

const executable = (path: string, text: string): void => {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
};

describe.each(interceptions)('leaving the sandbox (--intercept=%s)', (intercept) => {
  it('is refused to a program that a command has put in the place of an allowed one', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork();
    const plant = `printf '#!/bin/sh\\necho planted; : > ${fixture.outside}/escaped\\n' > touch; chmod +x touch;`;

    const result = await fixture.run(`${plant} "$PWD/touch"; ./touch; PATH=$PWD:$PATH; touch`);

    expect(result.stdout).toBe('planted\n'.repeat(3));
    expect(result.stderr.match(/escaped: Read-only file system/g)).toHaveLength(3);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a link that a command has made', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });
    await fixture.allowWork();

    const { stderr } = await fixture.run(
      `ln -s /bin/sh tool; ./tool -c ': > ${fixture.outside}/escaped'; mkdir d; ln -s /bin d/bin; d/bin/touch ${fixture.outside}/escaped`,
    );

    expect(stderr.match(/Read-only file system/g)).toHaveLength(2);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a script whose interpreter a command could have changed', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });
    await fixture.allowWork();
    executable(join(fixture.outside, 'tool'), `#!${fixture.work}/interpreter\n`);
    await fixture.run('cp /bin/sh interpreter');
    executable(join(fixture.work, 'interpreter'), `#!/bin/sh\n: > ${fixture.outside}/escaped\n`);

    await fixture.run(`${fixture.outside}/tool`);

    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a program that others may write', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });
    executable(join(fixture.outside, 'tool'), `#!/bin/sh\n: > ${fixture.outside}/escaped\n`);
    chmodSync(join(fixture.outside, 'tool'), 0o777);

    await fixture.run(`${fixture.outside}/tool`);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
    expect(fixture.warnings).toContainEqual([
      'exec.kept_inside',
      expect.objectContaining({ file: `${fixture.outside}/tool` }),
    ]);

    chmodSync(join(fixture.outside, 'tool'), 0o755);
    await fixture.run(`${fixture.outside}/tool`);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(true);
  });

  it("is refused to a repository's own program with the name of an allowed one, also where nothing is writable", async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules: 'prefix_rule(pattern = ["git"])' });
    mkdirSync(join(fixture.work, 'tools'));
    executable(join(fixture.work, 'tools/git'), `#!/bin/sh\necho planted; : > ${fixture.outside}/escaped\n`);

    const { stdout, stderr } = await fixture.run(
      'tools/git status; "$PWD"/tools/git status; PATH=$PWD/tools:$PATH; git log',
    );

    expect(stdout).toBe('planted\n'.repeat(3));
    expect(stderr.match(/escaped: Read-only file system/g)).toHaveLength(3);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a path that looks like that of a system program and leads elsewhere', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules: 'prefix_rule(pattern = ["tool"])' });
    const up = '../'.repeat(fixture.work.split('/').length - 1);
    const depth = up.split('../').length - 1;
    const deep = join(fixture.work, Array.from({ length: depth }, (_, at) => `d${at}`).join('/'));
    mkdirSync(deep, { recursive: true });
    symlinkSync(deep, join(fixture.work, 'link'));
    mkdirSync(join(fixture.work, 'usr/bin'), { recursive: true });
    executable(join(fixture.work, 'usr/bin/tool'), `#!/bin/sh\necho planted; : > ${fixture.outside}/escaped\n`);

    // By its look `/usr/bin/tool`; by way of the link the file of the repository.
    const { stdout } = await fixture.run(`"$PWD"/link/${up}usr/bin/tool`);

    expect(stdout).toBe('planted\n');
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is granted to a program anywhere that a rule names by its path', async () => {
    await using fixture = await EscalationFixture.open({ intercept });
    await fixture.allowWork();
    const tool = join(fixture.work, 'tool');
    executable(tool, `#!/bin/sh\necho "$0" "$*" >> ${fixture.outside}/escaped\n`);
    writeFileSync(fixture.rulesFile, `prefix_rule(pattern = ["${tool}"])`);

    await fixture.run('./tool a; cd ..; work/tool b');
    writeFileSync(
      fixture.rulesFile,
      `prefix_rule(pattern = ["tool"])\nhost_executable(name = "tool", paths = ["${tool}"])`,
    );
    await fixture.run('"$PWD"/tool c');

    expect(readFileSync(join(fixture.outside, 'escaped'), 'utf8')).toBe(`./tool a\nwork/tool b\n${tool} c\n`);
  });

  it('is refused to a path that only looks like the one a rule names', async () => {
    await using fixture = await EscalationFixture.open({ intercept });
    await fixture.allowWork();
    const tool = join(fixture.outside, 'tool');
    executable(tool, '#!/bin/sh\n');
    mkdirSync(join(fixture.work, 'deep/deeper'), { recursive: true });
    mkdirSync(join(fixture.work, 'outside'));
    executable(join(fixture.work, 'outside/tool'), `#!/bin/sh\n: > ${fixture.outside}/escaped\n`);
    symlinkSync(join(fixture.work, 'deep/deeper'), join(fixture.work, 'link'));
    writeFileSync(fixture.rulesFile, `prefix_rule(pattern = ["${tool}"])`);

    // By the look of it this is the tool outside; by way of the link it is the one that was planted.
    const { exit_code } = await fixture.run('"$PWD"/link/../../../work/link/../../outside/tool');
    await fixture.run(`"$PWD"/link/../../outside/tool`);

    expect(exit_code).not.toBe(127);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('passes on no variable of the caller but those of the terminal and the language', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork();
    const held =
      'LD_PRELOAD=x.so BASH_ENV=b PYTHONPATH=p GIT_SSH_COMMAND=g NODE_OPTIONS=-n PAGER=p JAVA_HOME=j GNUMAKEFLAGS=-e ' +
      'GIT_DIR=g GIT_WORK_TREE=w COMPILER_PATH=c GCC_EXEC_PREFIX=g WGETRC=w HOME=/ LC_ALL=../x TERM=/x TZ=:/etc/x ANY=a';

    const { stdout } = await fixture.run(
      `f() { :; }; export -f f; PATH=.:$PWD:/usr/bin:/bin: ${held} LC_TIME=C COLUMNS=80 NO_COLOR=1 /usr/bin/env`,
    );

    const lines = stdout.trim().split('\n').sort();
    expect(lines.filter((line) => !line.startsWith('SHLVL='))).toEqual([
      'COLUMNS=80',
      'LANG=C.UTF-8',
      'LC_TIME=C',
      'NO_COLOR=1',
      'PATH=/usr/bin:/bin',
      `PWD=${fixture.work}`,
    ]);
  });

  it('passes on no directory of a repository in PATH, also where nothing is writable', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });

    expect(await fixture.run('PATH=$PWD:/usr/bin:/bin:/opt/odd printenv PATH')).toMatchObject({
      stdout: '/usr/bin:/bin\n',
    });
  });

  it('passes on every variable when the caller is trusted', async () => {
    await using fixture = await EscalationFixture.open({
      intercept,
      rules,
      shell: { trustEscalatedEnvironment: true },
    });

    expect(await fixture.run('PAGER=p printenv PAGER')).toMatchObject({ stdout: 'p\n' });
  });

  it('keeps a variable that the server itself has', async () => {
    const environment = { PATH: process.env.PATH!, PAGER: 'less' };
    await using fixture = await EscalationFixture.open({ intercept, rules, shell: { environment } });

    expect(await fixture.run('printenv PAGER; PAGER=more printenv PAGER; echo $?')).toMatchObject({
      stdout: 'less\n1\n',
    });
  });

  it('shows in the question what will run and what is held back', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });
    symlinkSync('/bin/sh', join(fixture.outside, 'sh'));

    await fixture.run(`LD_PRELOAD= LD_AUDIT=x ${fixture.outside}/sh -c 'exit 0' $'a\\nb'`);

    expect(fixture.peer.questions.map(({ message }) => message.split('\n'))).toEqual([
      [
        `Allow agent to run \`${fixture.outside}/sh -c 'exit 0' $'a\\nb'\` in \`${fixture.work}\`?`,
        expect.stringMatching(/^Program: \/(usr\/)?bin\/(da|ba)sh$/),
        'It runs outside the sandbox.',
        'Variables held back: LD_AUDIT, LD_PRELOAD',
      ],
    ]);
  });

  it('is decided anew after the question: a file that was swapped meanwhile stays inside', async () => {
    await using fixture = await EscalationFixture.open({
      intercept,
      rules: 'prefix_rule(pattern = ["tool"], decision = "prompt")',
      answer: () => {
        writeFileSync(join(fixture.outside, 'tool'), `#!${fixture.work}/planted\n`);
        return { action: 'accept' };
      },
    });
    await fixture.allowWork();
    executable(join(fixture.outside, 'tool'), '#!/bin/sh\n');
    executable(join(fixture.work, 'planted'), `#!/bin/sh\n: > ${fixture.outside}/escaped\n`);

    await fixture.run(`${fixture.outside}/tool`);

    expect(fixture.peer.questions).toHaveLength(1);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is refused when the working directory was swapped while the user was asked', async () => {
    await using fixture = await EscalationFixture.open({
      intercept,
      rules: 'prefix_rule(pattern = ["touch"], decision = "prompt")',
      answer: () => {
        renameSync(join(fixture.work, 'place'), join(fixture.work, 'moved'));
        symlinkSync(fixture.outside, join(fixture.work, 'place'));
        return { action: 'accept' };
      },
    });
    mkdirSync(join(fixture.work, 'place'));

    const { stdout, stderr } = await fixture.run('cd place; touch made; echo $(($? != 0))');

    expect(fixture.peer.questions).toHaveLength(1);
    expect(stdout).toBe('1\n');
    expect(stderr).toContain(
      `the working directory ${join(fixture.work, 'place')} has been replaced since the question`,
    );
    for (const folder of [join(fixture.work, 'moved'), fixture.outside]) expect(readdirSync(folder)).toEqual([]);
  });

  it('is refused to everything where the sandbox hides files', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    const entry = (path: string, access: string) => ({ path: { type: 'path', path: `file://${path}` }, access });
    const permissionProfile = {
      type: 'managed',
      network: 'restricted',
      file_system: { type: 'restricted', entries: [entry('/', 'read'), entry(fixture.outside, 'deny')] },
    };
    const _meta = { 'codex/sandbox-state-meta': { permissionProfile, sandboxCwd: `file://${fixture.work}` } };

    const args = { command: 'touch made', workdir: fixture.work, login: false };
    const { structuredContent } = await fixture.peer.request('tools/call', { name: 'shell', arguments: args, _meta });

    expect(structuredContent).toMatchObject({ exit_code: 1, sandbox_denied: true });
  });

  it('is refused to everything where the sandbox shows only parts of the disk', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules: 'prefix_rule(pattern = ["cat"])' });
    writeFileSync(join(fixture.outside, 'secret'), 'secret\n');
    const shown = [dirname(patchedBash), fixture.work];
    const entries = shown.map((path) => ({ path: { type: 'path', path: `file://${path}` }, access: 'read' }));
    const permissionProfile = {
      type: 'managed',
      network: 'restricted',
      file_system: { type: 'restricted', entries: [...entries, { path: special('minimal'), access: 'read' }] },
    };
    const _meta = { 'codex/sandbox-state-meta': { permissionProfile, sandboxCwd: `file://${fixture.work}` } };

    const args = { command: `cat ${fixture.outside}/secret`, workdir: fixture.work, login: false };
    const { structuredContent } = await fixture.peer.request('tools/call', { name: 'shell', arguments: args, _meta });

    expect(structuredContent).toMatchObject({ exit_code: 1, stdout: '' });
    expect(fixture.warnings).toContainEqual([
      'exec.kept_inside',
      expect.objectContaining({ reason: 'the sandbox hides files' }),
    ]);
  });

  it('needs no trusted program where there is no sandbox', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules, answer });
    await fixture.allowWork({ type: 'danger-full-access' });
    executable(join(fixture.work, 'tool'), `#!/bin/sh\necho "$PAGER"; : > ${fixture.outside}/escaped\n`);

    expect(await fixture.run('PAGER=p ./tool')).toMatchObject({ output: 'p\n' });
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(true);
  });
});

describe.each(interceptions)('a program outside the sandbox (--intercept=%s)', (intercept) => {
  it('has no descriptors of the server, and the umask, limits and bytes of its caller', async () => {
    await using fixture = await EscalationFixture.open({
      intercept,
      rules: 'prefix_rule(pattern = ["python3"])',
      shell: { trustEscalatedEnvironment: true },
    });
    const script = `
import os, resource, sys
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1], oct(os.umask(0)), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
print(os.fsencode(sys.argv[1]), os.environb[b"RAW"])`;

    const { stdout, stderr } = await fixture.run(
      `umask 027; ulimit -S -n 128; RAW=$'\\xfe' /usr/bin/python3 -c '${script}' $'\\xff'`,
    );

    expect(stderr).toBe('');
    expect(stdout).toBe("[0, 1, 2] 0o27 128\nb'\\xff' b'\\xfe'\n");
  });

  it('passes its death by a signal on', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules: 'prefix_rule(pattern = ["sh"])' });

    const { stdout, stderr } = await fixture.run("sh -c 'kill -KILL $$'; echo $?");

    expect(stdout).toBe('137\n');
    expect(stderr).toMatch(/Killed/);
  });
});
