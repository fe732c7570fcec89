import { chmodSync, existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { McpFixture, type McpUser, type UserOptions } from './fixture.ts';

/** Tells in whose pid namespace it ran. */
const witness = (file: string): string => `readlink /proc/self/ns/pid > ${file}`;

describe('a command that a rule lets out of the sandbox', () => {
  let fixture: McpFixture;
  let file: string;
  beforeEach(() => {
    fixture = new McpFixture();
    file = join(fixture.work, 'witness');
    writeFileSync(join(fixture.home, 'mine.rules'), 'prefix_rule(pattern = ["uname"], decision = "allow")\n');
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  function open(env: Record<string, string>, approval = 'never', options: UserOptions = {}): Promise<McpUser> {
    const HOME = join(fixture.outside, 'home');
    mkdirSync(HOME, { recursive: true });
    const args = ['--rules', join(fixture.home, 'mine.rules'), '--approval', approval];
    return fixture.open(args, options, { HOME, ...env });
  }
  const place = (): string =>
    !existsSync(file)
      ? 'never ran'
      : readFileSync(file, 'utf8').trim() === readlinkSync('/proc/self/ns/pid')
        ? 'outside'
        : 'inside';

  function plant(path: string): void {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n${witness(file)}\n`);
    chmodSync(path, 0o755);
  }

  it.each(['bin', 'link'])('is no program that commands can put into a directory of the PATH: %s', async (name) => {
    plant(join(fixture.work, 'bin/uname'));
    symlinkSync(join(fixture.work, 'bin'), join(fixture.outside, 'link'));
    const directory = join(name === 'bin' ? fixture.work : fixture.outside, name);
    await using user = await open({ PATH: `${directory}::/usr/bin:/bin` });

    const { structured } = await user.exec('uname; readlink /proc/self/ns/pid');
    const alone = await user.exec('uname');

    expect([place(), structured?.exit_code, alone.structured?.output]).toEqual(['inside', 0, 'Linux\n']);
  });

  it('is none in a directory that login files add to the PATH', async () => {
    plant(join(fixture.work, 'bin/uname'));
    const HOME = join(fixture.outside, 'own');
    mkdirSync(HOME);
    writeFileSync(join(HOME, '.profile'), `PATH='${fixture.work}/bin':$PATH\n`);
    await using user = await open({ HOME, PATH: '/usr/bin:/bin' });

    const { structured } = await user.exec('uname', { login: true });

    expect([place(), structured?.output]).toEqual(['never ran', 'Linux\n']);
  });

  it('is no file that commands can write, named by a relative path', async () => {
    writeFileSync(join(fixture.home, 'mine.rules'), 'prefix_rule(pattern = ["./run.sh"], decision = "allow")\n');
    plant(join(fixture.work, 'run.sh'));
    await using user = await open({});

    await user.exec('./run.sh');

    expect(place()).toBe('inside');
  });

  it('is run by no shell that commands can put there', async () => {
    plant(join(fixture.work, 'bin/zsh'));
    await using user = await open({ PATH: `${join(fixture.work, 'bin')}:/usr/bin:/bin` });

    const { structured } = await user.exec('uname', { shell: 'zsh' });

    expect([place(), structured?.output]).toEqual(['never ran', 'Linux\n']);
  });

  it.each([
    ['in a home that commands can write', (home: string) => writeFileSync(join(home, '.bash_profile'), witness(file))],
    [
      'by a start-up file that leads there',
      (home: string) => {
        writeFileSync(join(fixture.work, 'profile'), witness(file));
        symlinkSync(join(fixture.work, 'profile'), join(home, '.bash_profile'));
      },
    ],
  ])('stays inside %s, unless the user agrees', async (title, prepare) => {
    const home = title.startsWith('in') ? fixture.work : join(fixture.outside, 'own');
    mkdirSync(home, { recursive: true });
    prepare(home);
    await using silent = await open({ HOME: home });
    await silent.exec('uname', { login: true });
    const before = place();
    await using user = await open({ HOME: home }, 'on-request', {
      answer: () => ({ action: 'accept', content: { decision: 'accept' } }),
    });
    await user.exec('uname', { login: true });

    expect([before, place(), user.questions.length]).toEqual(['inside', 'outside', 1]);
    expect(user.questions[0]!.message).toContain('commands can write');
  });
});
