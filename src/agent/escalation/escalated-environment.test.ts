import { describe, expect, it } from 'vitest';
import { escalatedEnvironment } from './escalated-environment.ts';
import { SandboxWritablePaths } from './writable-paths.ts';

const writable = new SandboxWritablePaths({
  network: 'restricted',
  unrestricted: false,
  rules: [
    { path: '/', access: 'read', skipMissing: false },
    { path: '/work', access: 'write', skipMissing: false },
    { path: '/work/safe', access: 'read', skipMissing: false },
  ],
  deniedGlobs: [],
  globDepth: undefined,
  minimal: false,
});

const own = { PAGER: 'less', PATH: '/usr/bin:/opt/own:/work/own', HOME: '/home/me', INTERCEPTED: 'no' };

const escalated = (...env: string[]) => {
  const { env: kept, changed } = escalatedEnvironment(
    { env: env.map((entry) => Buffer.from(entry, 'latin1')), workdir: Buffer.from('/work/here') },
    own,
    writable,
  );
  return { kept: kept.map((entry) => entry.toString('latin1')), changed };
};

describe('the environment of a program outside the sandbox', () => {
  it('has nothing that belongs to the interception or the calling shell, which is no loss', () => {
    const shell = ['EXEC_WRAPPER=/w', 'BASH_EXEC_WRAPPER=/w', 'CODEX_ESCALATE_SOCKET=3', '_=/bin/ls', 'OLDPWD=/'];

    expect(escalated(...shell, 'LINES=1')).toEqual({ kept: ['LINES=1'], changed: [] });
  });

  it.each([
    ...['LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH', 'GLIBC_TUNABLES', 'BASH_ENV', 'ENV', 'PS4'],
    ...['BASH_FUNC_ls%%', 'PYTHONPATH', 'PERL5LIB', 'RUBYOPT', 'NODE_OPTIONS', 'JAVA_TOOL_OPTIONS', 'JAVA_HOME'],
    ...['GNUMAKEFLAGS', 'MAKEFLAGS', 'COMPILER_PATH', 'GCC_EXEC_PREFIX', 'WGETRC', 'CC', 'TAR_OPTIONS', 'EDITOR'],
    ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_AUTHOR_NAME', 'GIT_CONFIG_COUNT', 'GIT_EXTERNAL_DIFF'],
    ...['TMPDIR', 'XDG_CONFIG_HOME', 'USER', 'TERMINFO', 'LC_OTHER', 'LC_ALLX', 'ANYTHING', 'pwd', ''],
  ])('lacks %s', (name) => {
    expect(escalated(`${name}=x`)).toEqual({ kept: [], changed: [name === '' ? '=x' : name] });
  });

  it.each([
    ...['LANG=C.UTF-8', 'LC_ALL=', 'LC_TIME=de_DE@euro', 'LANGUAGE=de:en', 'TERM=xterm-256color', 'TZ=Europe/Berlin'],
    ...['TZ=EST5EDT', 'COLUMNS=80', 'NO_COLOR=', 'COLORTERM=truecolor', 'CI=true', 'HOME=/home/me', 'PWD=/work/here'],
  ])('keeps %s, which only describes or is the same for the server', (entry) => {
    expect(escalated(entry)).toEqual({ kept: [entry], changed: [] });
  });

  it.each([
    ...['LANG=/x', 'LC_ALL=../x', 'LANGUAGE=de:../x', 'TERM=../x', 'TERM=', 'TZ=/x', 'TZ=:x', 'TZ=a/../b', 'TZ=../x'],
    ...['COLUMNS=$(id)', 'NO_COLOR=a b', 'HOME=/work', 'HOME=', 'PWD=/work', 'PWD=/work/here/', 'LANG=\xff'],
  ])('lacks %s, which could lead somewhere', (entry) => {
    expect(escalated(entry)).toEqual({ kept: [], changed: [entry.split('=')[0]] });
  });

  it('keeps what the server has as well, and only that', () => {
    expect(escalated('PAGER=less', 'PAGER=more')).toEqual({ kept: ['PAGER=less'], changed: ['PAGER'] });
  });

  it.each([
    ['/usr/bin:/bin:/usr/local/sbin', '/usr/bin:/bin:/usr/local/sbin', []],
    ['/work/bin:/usr/bin:.:relative::/bin:', '/usr/bin:/bin', ['PATH']],
    ['/opt/bin:/opt/own:/work/safe/bin:/usr/../work/bin', '/opt/own', ['PATH']],
    ['/work/own:/usr/bin', '/usr/bin', ['PATH']],
    ['/usr/\xff:/bin', '/bin', ['PATH']],
    ['/proc/self/cwd:/dev/fd/99:/bin', '/bin', ['PATH']],
    ['/work', '/usr/local/bin:/usr/bin:/bin', ['PATH']],
    ['', '/usr/local/bin:/usr/bin:/bin', ['PATH']],
  ])('has of the PATH %s only %s', (path, safe, changed) => {
    expect(escalated(`PATH=${path}`)).toEqual({ kept: [`PATH=${safe}`], changed });
  });
});
