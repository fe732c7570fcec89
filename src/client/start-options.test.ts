import { describe, expect, it } from 'vitest';
import { type EnvironmentInfo, type EnvPolicy, PathUri } from '../protocol/index.ts';
import { requireStartCapabilities, startParams } from './start-options.ts';

const prepared = { processStartDirect: false };
const info: EnvironmentInfo = {
  shell: { name: 'bash', path: '/bin/bash' },
  cwd: PathUri.fromNative('/srv'),
  userHomeDir: PathUri.fromNative('/home/user'),
  capabilities: prepared,
};
const all: EnvPolicy = { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };
const known = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  SHELL: '/bin/bash',
  HOME: '/home/user',
};

function requestOf(params: ReturnType<typeof startParams>) {
  if (params.mode !== 'prepared') throw new Error('a prepared start was expected');
  return params.request;
}

describe('the directory of a command', () => {
  it.each(['/srv/project', 'file:///srv/project', 'FILE:///srv/project'])('may be spelled %s', (cwd) => {
    expect(startParams({ argv: ['ls'], cwd }, undefined)).toMatchObject({ cwd: { href: 'file:///srv/project' } });
    expect(startParams({ mode: 'prepared', request: { argv: ['ls'], cwd, env: {} } }, undefined)).toMatchObject({
      request: { cwd: { href: 'file:///srv/project' } },
    });
  });

  it.each(['project', './project', ''])('is not %j, which the error names', (cwd) => {
    expect(() => startParams({ argv: ['ls'], cwd }, undefined)).toThrow(
      `cwd: expected an absolute path or a file: URI, not '${cwd}'`,
    );
  });
});

describe('a start on a server that takes only prepared ones', () => {
  it('is prepared by the client from the description of the environment', () => {
    const { argv, cwd, env } = requestOf(startParams({ argv: ['ls'], env: { A: '1' }, envPolicy: all }, info));

    expect({ argv, cwd: cwd.href, env }).toEqual({ argv: ['ls'], cwd: 'file:///srv', env: { ...known, A: '1' } });
  });

  it.each([
    ['without a policy', undefined, { A: '1' }],
    ['inheriting nothing', { ...all, inherit: 'none', set: { S: '2' } }, { S: '2', A: '1' }],
    ['with exclusions', { ...all, exclude: ['sh*', 'HOME'] }, { PATH: known.PATH, A: '1' }],
    ['with inclusions', { ...all, set: { S: '2' }, includeOnly: ['s*'] }, { SHELL: '/bin/bash', S: '2', A: '1' }],
  ] as readonly (readonly [string, EnvPolicy | undefined, object])[])(
    'has the environment that its policy gives it, %s',
    (_, envPolicy, env) => {
      const options = { argv: ['ls'], env: { A: '1' }, ...(envPolicy && { envPolicy }) };

      expect(requestOf(startParams(options, info)).env).toEqual(env);
    },
  );

  it('keeps everything else', () => {
    expect(startParams({ argv: ['ls'], arg0: 'me', tty: true, processId: 'p' }, info)).toMatchObject({
      processId: 'p',
      tty: true,
      pipeStdin: false,
      mode: 'prepared',
      request: { arg0: 'me' },
    });
  });
});

it('a network is sent, but not to a server that would ignore it', () => {
  const params = startParams({ argv: ['ls'], network: { allow: ['example.com'] } }, info);
  expect(params).toMatchObject({ network: { allow: ['example.com'] } });
  expect(() => requireStartCapabilities(params, (capability) => capability === 'sessionNetwork')).not.toThrow();
  expect(() => requireStartCapabilities(params, () => false)).toThrow('it lacks the capability sessionNetwork');
});

it('a prepared start is sent unchanged', () => {
  const request = { argv: ['ls'], cwd: '/w', env: { A: '1' }, arg0: 'me' };

  const params = startParams(
    { mode: 'prepared', request, processId: 'p', io: { type: 'pty', rows: 3, cols: 4 } },
    info,
  );

  expect(params).toEqual({
    mode: 'prepared',
    processId: 'p',
    tty: true,
    pipeStdin: false,
    io: { type: 'pty', rows: 3, cols: 4 },
    request: { ...request, cwd: PathUri.fromNative('/w') },
  });
});
