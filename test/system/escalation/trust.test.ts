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
import { type Answer, interceptions, patchedBash, Site } from './fixture.ts';

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
    await using site = await Site.open({ intercept, rules });
    await site.allowWork();
    const plant = `printf '#!/bin/sh\\necho planted; : > ${site.outside}/escaped\\n' > touch; chmod +x touch;`;

    const result = await site.run(`${plant} "$PWD/touch"; ./touch; PATH=$PWD:$PATH; touch`);

    expect(result.stdout).toBe('planted\n'.repeat(3));
    expect(result.stderr.match(/escaped: Read-only file system/g)).toHaveLength(3);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a link that a command has made', async () => {
    await using site = await Site.open({ intercept, rules, answer });
    await site.allowWork();

    const { stderr } = await site.run(
      `ln -s /bin/sh tool; ./tool -c ': > ${site.outside}/escaped'; mkdir d; ln -s /bin d/bin; d/bin/touch ${site.outside}/escaped`,
    );

    expect(stderr.match(/Read-only file system/g)).toHaveLength(2);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a script whose interpreter a command could have changed', async () => {
    await using site = await Site.open({ intercept, rules, answer });
    await site.allowWork();
    executable(join(site.outside, 'tool'), `#!${site.work}/interpreter\n`);
    await site.run('cp /bin/sh interpreter');
    executable(join(site.work, 'interpreter'), `#!/bin/sh\n: > ${site.outside}/escaped\n`);

    await site.run(`${site.outside}/tool`);

    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a program that others may write', async () => {
    await using site = await Site.open({ intercept, rules, answer });
    executable(join(site.outside, 'tool'), `#!/bin/sh\n: > ${site.outside}/escaped\n`);
    chmodSync(join(site.outside, 'tool'), 0o777);

    await site.run(`${site.outside}/tool`);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
    expect(site.warnings).toContainEqual([
      'exec.kept_inside',
      expect.objectContaining({ file: `${site.outside}/tool` }),
    ]);

    chmodSync(join(site.outside, 'tool'), 0o755);
    await site.run(`${site.outside}/tool`);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(true);
  });

  it("is refused to a repository's own program with the name of an allowed one, also where nothing is writable", async () => {
    await using site = await Site.open({ intercept, rules: 'prefix_rule(pattern = ["git"])' });
    mkdirSync(join(site.work, 'tools'));
    executable(join(site.work, 'tools/git'), `#!/bin/sh\necho planted; : > ${site.outside}/escaped\n`);

    const { stdout, stderr } = await site.run(
      'tools/git status; "$PWD"/tools/git status; PATH=$PWD/tools:$PATH; git log',
    );

    expect(stdout).toBe('planted\n'.repeat(3));
    expect(stderr.match(/escaped: Read-only file system/g)).toHaveLength(3);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is refused to a path that looks like that of a system program and leads elsewhere', async () => {
    await using site = await Site.open({ intercept, rules: 'prefix_rule(pattern = ["tool"])' });
    const up = '../'.repeat(site.work.split('/').length - 1);
    const depth = up.split('../').length - 1;
    const deep = join(site.work, Array.from({ length: depth }, (_, at) => `d${at}`).join('/'));
    mkdirSync(deep, { recursive: true });
    symlinkSync(deep, join(site.work, 'link'));
    mkdirSync(join(site.work, 'usr/bin'), { recursive: true });
    executable(join(site.work, 'usr/bin/tool'), `#!/bin/sh\necho planted; : > ${site.outside}/escaped\n`);

    // By its look `/usr/bin/tool`; by way of the link the file of the repository.
    const { stdout } = await site.run(`"$PWD"/link/${up}usr/bin/tool`);

    expect(stdout).toBe('planted\n');
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is granted to a program anywhere that a rule names by its path', async () => {
    await using site = await Site.open({ intercept });
    await site.allowWork();
    const tool = join(site.work, 'tool');
    executable(tool, `#!/bin/sh\necho "$0" "$*" >> ${site.outside}/escaped\n`);
    writeFileSync(site.rulesFile, `prefix_rule(pattern = ["${tool}"])`);

    await site.run('./tool a; cd ..; work/tool b');
    writeFileSync(
      site.rulesFile,
      `prefix_rule(pattern = ["tool"])\nhost_executable(name = "tool", paths = ["${tool}"])`,
    );
    await site.run('"$PWD"/tool c');

    expect(readFileSync(join(site.outside, 'escaped'), 'utf8')).toBe(`./tool a\nwork/tool b\n${tool} c\n`);
  });

  it('is refused to a path that only looks like the one a rule names', async () => {
    await using site = await Site.open({ intercept });
    await site.allowWork();
    const tool = join(site.outside, 'tool');
    executable(tool, '#!/bin/sh\n');
    mkdirSync(join(site.work, 'deep/deeper'), { recursive: true });
    mkdirSync(join(site.work, 'outside'));
    executable(join(site.work, 'outside/tool'), `#!/bin/sh\n: > ${site.outside}/escaped\n`);
    symlinkSync(join(site.work, 'deep/deeper'), join(site.work, 'link'));
    writeFileSync(site.rulesFile, `prefix_rule(pattern = ["${tool}"])`);

    // By the look of it this is the tool outside; by way of the link it is the one that was planted.
    const { exit_code } = await site.run('"$PWD"/link/../../../work/link/../../outside/tool');
    await site.run(`"$PWD"/link/../../outside/tool`);

    expect(exit_code).not.toBe(127);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('takes no variable of the caller along but those that only describe', async () => {
    await using site = await Site.open({ intercept, rules });
    await site.allowWork();
    const held =
      'LD_PRELOAD=x.so BASH_ENV=b PYTHONPATH=p GIT_SSH_COMMAND=g NODE_OPTIONS=-n PAGER=p JAVA_HOME=j GNUMAKEFLAGS=-e ' +
      'GIT_DIR=g GIT_WORK_TREE=w COMPILER_PATH=c GCC_EXEC_PREFIX=g WGETRC=w HOME=/ LC_ALL=../x TERM=/x TZ=:/etc/x ANY=a';

    const { stdout } = await site.run(
      `f() { :; }; export -f f; PATH=.:$PWD:/usr/bin:/bin: ${held} LC_TIME=C COLUMNS=80 NO_COLOR=1 /usr/bin/env`,
    );

    const lines = stdout.trim().split('\n').sort();
    expect(lines.filter((line) => !line.startsWith('SHLVL='))).toEqual([
      'COLUMNS=80',
      'LANG=C.UTF-8',
      'LC_TIME=C',
      'NO_COLOR=1',
      'PATH=/usr/bin:/bin',
      `PWD=${site.work}`,
    ]);
  });

  it('takes no directory of a repository along in PATH, also where nothing is writable', async () => {
    await using site = await Site.open({ intercept, rules });

    expect(await site.run('PATH=$PWD:/usr/bin:/bin:/opt/odd printenv PATH')).toMatchObject({
      stdout: '/usr/bin:/bin\n',
    });
  });

  it('takes everything along when the caller is trusted', async () => {
    await using site = await Site.open({ intercept, rules, shell: { trustEscalatedEnvironment: true } });

    expect(await site.run('PAGER=p printenv PAGER')).toMatchObject({ stdout: 'p\n' });
  });

  it('keeps a variable that the server itself has', async () => {
    const environment = { PATH: process.env.PATH!, PAGER: 'less' };
    await using site = await Site.open({ intercept, rules, shell: { environment } });

    expect(await site.run('printenv PAGER; PAGER=more printenv PAGER; echo $?')).toMatchObject({ stdout: 'less\n1\n' });
  });

  it('shows in the question what will run and what is held back', async () => {
    await using site = await Site.open({ intercept, rules, answer });
    symlinkSync('/bin/sh', join(site.outside, 'sh'));

    await site.run(`LD_PRELOAD= LD_AUDIT=x ${site.outside}/sh -c 'exit 0' $'a\\nb'`);

    expect(site.peer.questions.map(({ message }) => message.split('\n'))).toEqual([
      [
        `Allow agent to run \`${site.outside}/sh -c 'exit 0' $'a\\nb'\` in \`${site.work}\`?`,
        expect.stringMatching(/^Program: \/(usr\/)?bin\/(da|ba)sh$/),
        'It runs outside the sandbox.',
        'Variables held back: LD_AUDIT, LD_PRELOAD',
      ],
    ]);
  });

  it('is decided anew after the question: a file that was swapped meanwhile stays inside', async () => {
    await using site = await Site.open({
      intercept,
      rules: 'prefix_rule(pattern = ["tool"], decision = "prompt")',
      answer: () => {
        writeFileSync(join(site.outside, 'tool'), `#!${site.work}/planted\n`);
        return { action: 'accept' };
      },
    });
    await site.allowWork();
    executable(join(site.outside, 'tool'), '#!/bin/sh\n');
    executable(join(site.work, 'planted'), `#!/bin/sh\n: > ${site.outside}/escaped\n`);

    await site.run(`${site.outside}/tool`);

    expect(site.peer.questions).toHaveLength(1);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is refused when the working directory was swapped while the user was asked', async () => {
    await using site = await Site.open({
      intercept,
      rules: 'prefix_rule(pattern = ["touch"], decision = "prompt")',
      answer: () => {
        renameSync(join(site.work, 'place'), join(site.work, 'moved'));
        symlinkSync(site.outside, join(site.work, 'place'));
        return { action: 'accept' };
      },
    });
    mkdirSync(join(site.work, 'place'));

    const { stdout, stderr } = await site.run('cd place; touch made; echo $(($? != 0))');

    expect(site.peer.questions).toHaveLength(1);
    expect(stdout).toBe('1\n');
    expect(stderr).toContain(`the working directory ${join(site.work, 'place')} has been replaced since the question`);
    for (const folder of [join(site.work, 'moved'), site.outside]) expect(readdirSync(folder)).toEqual([]);
  });

  it('is refused to everything where the sandbox hides files', async () => {
    await using site = await Site.open({ intercept, rules });
    const entry = (path: string, access: string) => ({ path: { type: 'path', path: `file://${path}` }, access });
    const permissionProfile = {
      type: 'managed',
      network: 'restricted',
      file_system: { type: 'restricted', entries: [entry('/', 'read'), entry(site.outside, 'deny')] },
    };
    const _meta = { 'codex/sandbox-state-meta': { permissionProfile, sandboxCwd: `file://${site.work}` } };

    const args = { command: 'touch made', workdir: site.work, login: false };
    const { structuredContent } = await site.peer.request('tools/call', { name: 'shell', arguments: args, _meta });

    expect(structuredContent).toMatchObject({ exit_code: 1, sandbox_denied: true });
  });

  it('is refused to everything where the sandbox shows only parts of the disk', async () => {
    await using site = await Site.open({ intercept, rules: 'prefix_rule(pattern = ["cat"])' });
    writeFileSync(join(site.outside, 'secret'), 'secret\n');
    const shown = [dirname(patchedBash), site.work];
    const entries = shown.map((path) => ({ path: { type: 'path', path: `file://${path}` }, access: 'read' }));
    const permissionProfile = {
      type: 'managed',
      network: 'restricted',
      file_system: { type: 'restricted', entries: [...entries, { path: special('minimal'), access: 'read' }] },
    };
    const _meta = { 'codex/sandbox-state-meta': { permissionProfile, sandboxCwd: `file://${site.work}` } };

    const args = { command: `cat ${site.outside}/secret`, workdir: site.work, login: false };
    const { structuredContent } = await site.peer.request('tools/call', { name: 'shell', arguments: args, _meta });

    expect(structuredContent).toMatchObject({ exit_code: 1, stdout: '' });
    expect(site.warnings).toContainEqual([
      'exec.kept_inside',
      expect.objectContaining({ reason: 'the sandbox hides files' }),
    ]);
  });

  it('is not a matter of trust where there is no sandbox', async () => {
    await using site = await Site.open({ intercept, rules, answer });
    await site.allowWork({ type: 'danger-full-access' });
    executable(join(site.work, 'tool'), `#!/bin/sh\necho "$PAGER"; : > ${site.outside}/escaped\n`);

    expect(await site.run('PAGER=p ./tool')).toMatchObject({ output: 'p\n' });
    expect(existsSync(join(site.outside, 'escaped'))).toBe(true);
  });
});

describe.each(interceptions)('a program outside the sandbox (--intercept=%s)', (intercept) => {
  it('has no descriptors of the server, and the umask, limits and bytes of its caller', async () => {
    await using site = await Site.open({
      intercept,
      rules: 'prefix_rule(pattern = ["python3"])',
      shell: { trustEscalatedEnvironment: true },
    });
    const script = `
import os, resource, sys
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1], oct(os.umask(0)), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
print(os.fsencode(sys.argv[1]), os.environb[b"RAW"])`;

    const { stdout, stderr } = await site.run(
      `umask 027; ulimit -S -n 128; RAW=$'\\xfe' /usr/bin/python3 -c '${script}' $'\\xff'`,
    );

    expect(stderr).toBe('');
    expect(stdout).toBe("[0, 1, 2] 0o27 128\nb'\\xff' b'\\xfe'\n");
  });

  it('passes its death by a signal on', async () => {
    await using site = await Site.open({ intercept, rules: 'prefix_rule(pattern = ["sh"])' });

    const { stdout, stderr } = await site.run("sh -c 'kill -KILL $$'; echo $?");

    expect(stdout).toBe('137\n');
    expect(stderr).toMatch(/Killed/);
  });
});
