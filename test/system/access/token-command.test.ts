import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { connect } from '../../support/wire-client.ts';
import { bearer, TokenFixture } from './fixture.ts';

const token = (file: string, command: string, ...args: readonly string[]) =>
  runCommand(['token', command, '--tokens-file', file, ...args]);

describe('exec-server token', () => {
  it('prints a secret once, alone on stdout, and keeps its digest for the owner of the file alone', async () => {
    using fixture = new TokenFixture();

    const { code, stdout, stderr } = await token(fixture.file, 'add', '--name', 'ci', '--scopes', 'run,view');

    expect([code, stdout]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/)]);
    expect(stderr).toContain(`token ci (run, view) is in ${fixture.file}`);
    expect(readFileSync(fixture.file, 'utf8') + stderr).not.toContain(stdout.trim());
    expect(statSync(fixture.file).mode & 0o777).toBe(0o600);
    await using server = await fixture.server();
    await using client = await connect(server.url, bearer(stdout.trim()));
    await client.start({ argv: ['true'] });
  });

  it('warns where a harness may connect and do nothing', async () => {
    using fixture = new TokenFixture();
    const add = (name: string, scopes: string) =>
      token(fixture.file, 'add', '--name', name, '--scopes', scopes, '--environments', '*');
    const hint = 'name what it may do as well, such as\n--scopes harness,run,view,files';

    expect(await add('idle', 'harness')).toMatchObject({ code: 0, stderr: expect.stringContaining(hint) });
    expect((await add('busy', 'harness,view')).stderr).not.toContain('warning');
    expect((await add('box', 'executor')).stderr).not.toContain('warning');
  });

  it('lists tokens without their secrets or digests, for people and for programs', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add(
      'ci',
      'run,harness',
      '--environments',
      'ci-*',
      '--sessions',
      '2',
      '--expires',
      '30d',
    );
    const table = await token(fixture.file, 'list');
    const json = await token(fixture.file, 'list', '--json');

    expect(table.stdout).toMatch(
      /^NAME +SCOPES +ENVIRONMENTS +LIMITS +EXPIRES\nci +run,harness +ci-\* +sessions=2 +\d{4}-/,
    );
    expect(JSON.parse(json.stdout)).toEqual({
      tokens: [
        {
          name: 'ci',
          scopes: ['run', 'harness'],
          environments: ['ci-*'],
          limits: { sessions: 2 },
          expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          expired: false,
        },
      ],
    });
    expect(table.stdout + json.stdout).not.toContain(secret);
    expect(json.stdout).not.toContain('sha256');
  });

  it('loses none of many that are added at a time: all but one are told to try again', async () => {
    using fixture = new TokenFixture();
    const names = Array.from({ length: 6 }, (_, index) => `t${index}`);

    const outcomes = await Promise.all(
      names.map((name) => token(fixture.file, 'add', '--name', name, '--scopes', 'run')),
    );

    const added = names.filter((_, index) => outcomes[index]!.code === 0);
    const { tokens } = JSON.parse((await token(fixture.file, 'list', '--json')).stdout) as {
      tokens: { name: string }[];
    };
    expect(tokens.map(({ name }) => name).sort()).toEqual(added);
    for (const { code, stdout, stderr } of outcomes.filter((each) => each.code !== 0)) {
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain('another program is changing the tokens');
    }
    expect(existsSync(`${fixture.file}.new`)).toBe(false);
  });

  it('finds the file by the settings, too', async () => {
    using fixture = new TokenFixture();
    const settings = join(fixture.folder, 'settings.toml');
    writeFileSync(settings, `tokens_file = "${fixture.file}"`);
    const added = await runCommand(['token', 'add', '--config', settings, '--name', 'a', '--scopes', 'none']);
    const listed = await runCommand(['token', 'list'], { EXEC_SERVER_TOKENS_FILE: fixture.file });

    expect([added.code, listed.code]).toEqual([0, 0]);
    expect(listed.stdout).toMatch(/\na +none +-/);
  });

  it.each<[readonly string[], number, string]>([
    [['add', '--name', 'ci', '--scopes', 'run'], 1, 'has a token named ci: revoke it first, or use --replace'],
    [['revoke', 'ci', 'nosuch'], 1, 'has no token named nosuch; its tokens are ci'],
    [['add', '--scopes', 'run'], 2, '--name NAME is required'],
    [['add', '--name', 'x', '--scopes', 'walk'], 2, "invalid value 'walk' for --scopes"],
    [['add', 'x'], 2, "unexpected argument 'x'"],
    [['revoke'], 2, 'the NAME of a token is required'],
  ])('%j ends with the reason, and changes nothing', async ([command = '', ...args], code, reason) => {
    using fixture = new TokenFixture();
    await fixture.add('ci', 'run');
    const before = readFileSync(fixture.file, 'utf8');

    const outcome = await token(fixture.file, command, ...args);

    expect([outcome.code, outcome.stdout, outcome.stderr]).toEqual([code, '', expect.stringContaining(reason)]);
    expect(readFileSync(fixture.file, 'utf8')).toBe(before);
  });

  it.each([[], ['add'], ['list'], ['revoke']])('%s --help names its options and exit codes', async (...command) => {
    const { code, stdout } = await runCommand(['token', ...command, '--help']);

    expect(code).toBe(0);
    for (const part of ['Usage: exec-server token', '--tokens-file <FILE>', 'Exit codes: 0 done, 1 not done']) {
      expect(stdout).toContain(part);
    }
  });

  it.each([
    [['token'], 'a command is required; commands are add, list and revoke'],
    [['token', 'remove'], "unknown command 'remove'; commands are add, list and revoke"],
    [['token', 'list', '--config', '/dev/null'], '--tokens-file FILE is required, or tokens_file in the settings file'],
  ])('%j is wrong usage', async (args, reason) => {
    const { code, stderr } = await runCommand(args, { EXEC_SERVER_TOKENS_FILE: undefined });

    expect([code, stderr]).toEqual([2, expect.stringContaining(`error: ${reason}`)]);
  });
});
