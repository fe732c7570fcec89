import { describe, expect, it } from 'vitest';
import { escalatedEnvironment } from './escalated-environment.ts';
import { WritablePlaces } from './writable-places.ts';

const places = new WritablePlaces({
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

const escalated = (...env: string[]) => {
  const own = { PAGER: 'less', PATH: '/usr/bin' };
  const { env: kept, changed } = escalatedEnvironment(
    env.map((entry) => Buffer.from(entry, 'latin1')),
    own,
    places,
  );
  return { kept: kept.map((entry) => entry.toString('latin1')), changed };
};

describe('the environment of a program outside the sandbox', () => {
  it('has nothing that belongs to the interception, which is no loss', () => {
    expect(escalated('EXEC_WRAPPER=/w', 'BASH_EXEC_WRAPPER=/w', 'CODEX_ESCALATE_SOCKET=3', 'A=1')).toEqual({
      kept: ['A=1'],
      changed: [],
    });
  });

  it.each([
    ...['LD_PRELOAD', 'LD_X', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH', 'GLIBC_TUNABLES', 'BASH_ENV', 'ENV'],
    ...['SHELLOPTS', 'BASHOPTS', 'PS4', 'BASH_FUNC_ls%%', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONSTARTUP'],
    ...['PYTHONINSPECT', 'PERL5LIB', 'PERL5OPT', 'PERLLIB', 'RUBYOPT', 'RUBYLIB', 'NODE_OPTIONS', 'NODE_PATH'],
    ...['JAVA_TOOL_OPTIONS', 'GIT_SSH', 'GIT_SSH_COMMAND', 'GIT_EXEC_PATH', 'GIT_CONFIG_GLOBAL', 'GIT_EXTERNAL_DIFF'],
    ...['GIT_EDITOR', 'GIT_PAGER', 'GIT_ASKPASS', 'GIT_TEMPLATE_DIR', 'GIT_PROXY_COMMAND', 'EDITOR', 'VISUAL'],
    ...['SSH_ASKPASS', 'GIT_TRACE', 'GIT_TRACE2_EVENT', 'TAR_OPTIONS', 'RSYNC_RSH', 'PYTHONPYCACHEPREFIX', 'MAKEFILES'],
  ])('lacks %s', (name) => {
    expect(escalated(`${name}=x`)).toEqual({ kept: [], changed: [name] });
  });

  it.each(['PYTHONUNBUFFERED=1', 'GIT_DIR=x', 'LDFLAGS=x', 'ENVIRONMENT=x', 'HOME=/home/me', 'odd', '=odd', 'N=a=b'])(
    'keeps %s',
    (entry) => {
      expect(escalated(entry)).toEqual({ kept: [entry], changed: [] });
    },
  );

  it.each(['HOME=/work', 'HOME=.', 'HOME=/proc/self/cwd', 'XDG_CONFIG_DIRS=/etc/xdg:/work', 'GNUPGHOME='])(
    'lacks %s, which leads to what commands can write',
    (entry) => {
      expect(escalated(entry)).toEqual({ kept: [], changed: [entry.split('=')[0]] });
    },
  );

  it('keeps what the server has as well, and only that', () => {
    expect(escalated('PAGER=less', 'PAGER=more')).toEqual({ kept: ['PAGER=less'], changed: ['PAGER'] });
  });

  it('keeps bytes that are no text', () => {
    expect(escalated('A=\xff\xfe', 'PATH=/usr/\xff:/bin')).toMatchObject({
      kept: ['A=\xff\xfe', 'PATH=/usr/\xff:/bin'],
    });
  });

  it.each([
    ['/usr/bin:/bin', '/usr/bin:/bin', []],
    ['/work/bin:/usr/bin:.:relative::/bin:', '/usr/bin:/bin', ['PATH']],
    ['/opt/bin:/work/safe/bin:/usr/../work/bin', '/opt/bin', ['PATH']],
    ['/proc/self/cwd:/dev/fd/99:/bin', '/bin', ['PATH']],
    ['/work', '/usr/local/bin:/usr/bin:/bin', ['PATH']],
    ['', '/usr/local/bin:/usr/bin:/bin', ['PATH']],
  ])('has of the PATH %s only %s', (path, safe, changed) => {
    expect(escalated(`PATH=${path}`)).toEqual({ kept: [`PATH=${safe}`], changed });
  });
});
