import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bash, byName, call, directory, SOCKET, wrapper } from './native-fixture.ts';

const names = (requests: readonly { file: string }[]): string[] => requests.map(({ file }) => file.split('/').at(-1)!);

describe('the patched Bash asks about', () => {
  it.each([
    ['a command found by PATH', 'uname', ['uname']],
    ['a command given by its path', '/usr/bin/uname', ['uname']],
    ['a command in a relative place', 'cd /usr; bin/uname', ['uname']],
    ['each member of a pipeline', 'uname | cat | wc -l', ['cat', 'uname', 'wc']],
    ['subshells', '(uname; uname)', ['uname', 'uname']],
    ['command substitution', 'echo $(uname) `uname`', ['uname', 'uname']],
    ['process substitution', 'read x < <(uname); : > >(cat >/dev/null); wait', ['cat', 'uname']],
    ['coprocesses', 'coproc uname; wait', ['uname']],
    ['background commands', 'uname & wait', ['uname']],
    ['exec', 'exec uname', ['uname']],
    ['exec under another name', 'exec -a other uname', ['uname']],
    ['command', 'command uname', ['uname']],
    ['prefix assignments', 'X=1 uname', ['uname']],
    ['eval', 'eval "uname; uname"', ['uname', 'uname']],
    ['functions', 'f() { uname; }; f', ['uname']],
    ['aliases', 'shopt -s expand_aliases\nalias u=uname\nu', ['uname']],
    ['traps', 'trap uname EXIT', ['uname']],
    ['time', 'time uname', ['uname']],
    ['nested shells of its kind', `${bash} -c 'uname; uname'`, ['bash', 'uname', 'uname']],
    ['shells a program has started', `env ${bash} -c 'uname; uname'`, ['env', 'uname', 'uname']],
    ['nothing it does itself', 'echo; [[ a = b ]]; read x < /dev/null; : > /dev/null; printf x', []],
    ['no command that is not there', 'nosuchcommand; /nosuch/command', []],
  ])('%s', async (_what, script, asked) => {
    const { requests } = await call(script);

    expect(names(requests).sort()).toEqual([...asked].sort());
  });

  it('the commands of a script it reads, and a script it starts', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'sourced'), 'uname >/dev/null\n');
    await writeFile(join(place.path, 'started'), `#!${bash}\nuname > /dev/null\n`, { mode: 0o755 });
    const { requests } = await call(`cd ${place.path}; . ./sourced; ./started`);

    expect(requests.map(({ file, argv, workdir }) => [file, argv[0], workdir])).toEqual([
      ['/usr/bin/uname', 'uname', place.path],
      ['./started', './started', place.path],
      ['/usr/bin/uname', 'uname', place.path],
    ]);
  });
});

describe('a script cannot switch the asking off', () => {
  it.each([
    ['by unsetting', 'unset BASH_EXEC_WRAPPER EXEC_WRAPPER CODEX_ESCALATE_SOCKET; touch x'],
    ['by emptying', 'BASH_EXEC_WRAPPER= EXEC_WRAPPER= touch x'],
    ['by pointing elsewhere', 'export BASH_EXEC_WRAPPER=/bin/true EXEC_WRAPPER=/bin/true; touch x'],
    ['by another socket', 'CODEX_ESCALATE_SOCKET=99 touch x'],
    ['by starting over', `env -u BASH_EXEC_WRAPPER true; export -n BASH_EXEC_WRAPPER EXEC_WRAPPER; touch x`],
    ['in a subshell of its own kind', `unset BASH_EXEC_WRAPPER EXEC_WRAPPER; ${bash} -c 'touch x'`],
  ])('%s', async (_how, script) => {
    const { stderr, requests } = await call(script, { decide: byName({ touch: { deny: 'no' } }) });

    expect(stderr).toBe('Execution denied: no\n');
    expect(requests.at(-1)!.env).not.toHaveProperty('BASH_EXEC_WRAPPER');
  });
});

describe('the configuration of the patched Bash', () => {
  const plain = { shell: bash, wrapper: '' } as const;

  it('is absent without an absolute path', async () => {
    const script = `uname >/dev/null; BASH_EXEC_WRAPPER=relative EXEC_WRAPPER= ${bash} -c 'uname'`;

    expect(await call(script, plain)).toMatchObject({ stdout: 'Linux\n', requests: [], status: { code: 0 } });
  });

  it('may come late, by an exported variable', async () => {
    const { requests } = await call(`uname; export EXEC_WRAPPER=${wrapper}; uname`, { ...plain, env: {} });

    expect(names(requests)).toEqual(['uname']);
  });

  it('starts nothing when the wrapper cannot be started', async () => {
    const { stdout, stderr, status } = await call('uname; echo $?; exec uname', { wrapper: '/nowhere/wrapper' });

    expect({ stdout, status }).toEqual({ stdout: '126\n', status: { code: 126 } });
    expect(stderr.match(/^bash: line 1: \/nowhere\/wrapper: No such file or directory$/gm)?.length).toBe(2);
  });

  it('leaves the socket to those it starts', async () => {
    expect((await call(`[ -S /proc/self/fd/${SOCKET} ] && /bin/echo there`)).stdout).toBe('there\n');
  });

  it('survives large environments', async () => {
    const script = 'export BIG=$(printf %0100000d 1); for i in {1..8}; do export B$i=$BIG; done; uname';

    expect(await call(script)).toMatchObject({ stdout: 'Linux\n', status: { code: 0 } });
  });
});
