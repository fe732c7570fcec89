import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endingShells, hostileBash, hostileSh, hostileZsh } from '../../support/hostile-start-up.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';
import { outcomeOf, uri } from '../sandbox/fixture.ts';

let home: string;
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'exec-server-shell-')));
  return () => rm(home, { recursive: true });
});

interface Shell {
  readonly name: string;
  readonly path: string;
}

interface Wiring {
  readonly tty: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly shell?: Shell;
  readonly policy?: typeof envPolicy;
  /** Another home than that of the test. */
  readonly folder?: string;
}

const envPolicy = { inherit: 'none', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };

/** Programs are called by their paths: functions and aliases of the start-up files hold in the command too. */
const script = '/usr/bin/printenv WANTED\n/usr/bin/printenv MY_TOKEN || X=\ngreet';
const wanted = "export WANTED=yes MY_TOKEN=secret\ngreet() { /usr/bin/printf 'hello\\n'; }\n";

async function run(
  { tty, env = {}, shell = { name: 'bash', path: '/bin/bash' }, policy = envPolicy, folder = home }: Wiring,
  text = script,
) {
  await using client = await connect(server.url);
  const started = await client.start({
    argv: [shell.path, '-lc', text],
    cwd: uri(folder),
    env: { PATH: '/usr/bin:/bin', HOME: folder, ...env },
    envPolicy: policy,
    shellSnapshot: { scopeId: 's', shell: { name: shell.name, path: shell.path } },
    tty,
  });
  const { exitCode } = await outcomeOf(started);
  // A terminal shows what the shell traces.
  return {
    exitCode,
    stdout: started
      .output(tty ? 'pty' : 'stdout')
      .replaceAll('\r', '')
      .replaceAll(/^\+.*\n/gm, '')
      .trimStart(),
  };
}

/** These call each other without end, so that each capture takes the 10 s after which it is given up. */
const endless = 'functions named after every command that prints or sets state';
const otherBash = Object.entries(hostileBash).filter(([name]) => name !== endless);

describe.each([
  { where: 'behind pipes', tty: false },
  { where: 'at a terminal', tty: true },
])('a shell snapshot $where', ({ tty }) => {
  it(`survives ${endless}, in every start-up file`, async () => {
    const outputs = ['.bashrc', '.bash_profile', 'environment'].map(async (name) => {
      const folder = await mkdtemp(join(home, 'home-'));
      await writeFile(join(folder, name), `${wanted}${hostileBash[endless]}\n`);
      const env = name === 'environment' ? { BASH_ENV: join(folder, name) } : {};
      return (await run({ tty, env, folder })).stdout;
    });
    expect(await Promise.all(outputs)).toEqual(Array(3).fill('yes\nhello\n'));
  });

  it.each(otherBash)('survives a .bashrc with %s', async (_name, text) => {
    await writeFile(join(home, '.bashrc'), `${wanted}${text}\n`);
    expect((await run({ tty })).stdout).toBe('yes\nhello\n');
  });

  it.each(otherBash)('survives a login profile with %s', async (_name, text) => {
    await writeFile(join(home, '.bash_profile'), `${wanted}${text}\n`);
    expect((await run({ tty })).stdout).toBe('yes\nhello\n');
  });

  it.each(otherBash)('survives a BASH_ENV with %s', async (_name, text) => {
    await writeFile(join(home, 'environment'), `${wanted}${text}\n`);
    await writeFile(join(home, '.bashrc'), 'greet() { /usr/bin/printf "not read\n"; }\n');
    expect((await run({ tty, env: { BASH_ENV: join(home, 'environment') } })).stdout).toBe('yes\nhello\n');
  });

  it.skipIf(!existsSync('/usr/bin/zsh')).each(Object.entries(hostileZsh))(
    'survives a .zshrc with %s (needs zsh)',
    async (_name, text) => {
      await writeFile(join(home, '.zshrc'), `${wanted}${text}\n`);
      expect((await run({ tty, shell: { name: 'zsh', path: '/usr/bin/zsh' } })).stdout).toBe('yes\nhello\n');
    },
  );

  // Shells of this kind cannot print their functions.
  it.each(Object.entries(hostileSh))('survives a .profile of sh with %s', async (_name, text) => {
    await writeFile(join(home, '.profile'), `${wanted}${text}\n`);
    const commands = '/usr/bin/printenv WANTED\n/usr/bin/printenv MY_TOKEN || X=';
    expect((await run({ tty, shell: { name: 'sh', path: '/bin/sh' } }, commands)).stdout).toBe('yes\n');
  });
});

/** The start-up files of a login, and the one that a snapshot reads besides. */
const shells = [
  { name: 'bash', path: '/bin/bash', login: '.bash_profile', more: '.bashrc', env: {} },
  { name: 'zsh', path: '/usr/bin/zsh', login: '.zprofile', more: '.zshrc', env: {} },
  { name: 'sh', path: '/bin/sh', login: '.profile', more: 'environment', env: { ENV: 'environment' } },
].filter(({ path }) => existsSync(path));

const endings = shells.flatMap((shell) =>
  Object.entries(endingShells).flatMap(([how, text]) => [
    { shell, how, text, tty: false },
    { shell, how, text, tty: true },
  ]),
);

describe('a shell that a start-up file ends', () => {
  const secretless = async ({ shell, tty }: (typeof endings)[number], env: Readonly<Record<string, string>>) => {
    const { stdout } = await run({ tty, shell, env }, '/usr/bin/printenv WANTED MY_TOKEN\n/bin/echo done');
    return stdout;
  };

  it.each(endings)('is as after a login, where it is ended later: $shell.name, $how, tty $tty', async (ending) => {
    const { shell, text } = ending;
    await writeFile(join(home, shell.login), wanted);
    await writeFile(join(home, shell.more), `${text}\n`);
    const env = Object.fromEntries(Object.keys(shell.env).map((name) => [name, join(home, shell.more)]));
    expect(await secretless(ending, env)).toMatch(/^yes\n(?:done\n)?$/);
  });

  it.each(endings)('runs the command without what its policy excludes: $shell.name, $how, tty $tty', async (ending) => {
    await writeFile(join(home, ending.shell.login), `${wanted}${ending.text}\n`);
    expect(await secretless(ending, {})).toMatch(/^(?:yes\n)?(?:done\n)?$/);
  });

  it.each(endings.filter(({ shell }) => shell.name === 'bash'))(
    'runs it so after a BASH_ENV, too: $how, tty $tty',
    async (ending) => {
      await writeFile(join(home, 'environment'), `${wanted}${ending.text}\n`);
      expect(await secretless(ending, { BASH_ENV: join(home, 'environment') })).toMatch(/^(?:yes\n)?(?:done\n)?$/);
    },
  );

  it('reads its start-up files, too, where the policy excludes nothing', async () => {
    await writeFile(
      join(home, '.bash_profile'),
      'export WANTED=yes\n[ -n "$BASH_EXECUTION_STRING" ] || WANTED=no\ncase $BASH_EXECUTION_STRING in (*WANTED*) ;; (*) exit 41;; esac\n',
    );
    const everything = { ...envPolicy, ignoreDefaultExcludes: true };
    expect((await run({ tty: false, policy: everything }, '/usr/bin/printenv WANTED')).stdout).toBe('yes\n');
  });
});

describe('a restored shell', () => {
  it.skipIf(!existsSync('/usr/bin/zsh'))('has the functions, aliases and options of zsh (needs zsh)', async () => {
    const rc = [
      'export FROM_RC="two\nlines"',
      "alias hi='echo hi'",
      "alias -g G='| tr a-z A-Z'",
      'alias -s txt=cat',
      'greet() { case $1 in (you) echo "it\'s $1";; esac }',
      'setopt extended_glob no_nomatch',
    ];
    await writeFile(join(home, '.zshrc'), `${rc.join('\n')}\n`);
    const commands = 'eval "hi G"\ngreet you\necho $FROM_RC\necho $options[extendedglob] $options[nomatch]\nalias -s';
    expect((await run({ tty: false, shell: { name: 'zsh', path: '/usr/bin/zsh' } }, commands)).stdout).toBe(
      "HI\nit's you\ntwo\nlines\non off\ntxt=cat\n",
    );
  });

  it('has the functions that a start-up file put in the place of commands', async () => {
    await writeFile(join(home, '.bashrc'), 'builtin() { echo mine; }\nunset() { echo mine too; }\n');
    expect((await run({ tty: false }, 'builtin\nunset')).stdout).toBe('mine\nmine too\n');
  });
});
