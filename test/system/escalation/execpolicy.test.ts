import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordedChecks } from '../../support/recorded-checks.ts';
import { serverProgram } from '../../support/server.ts';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'exec-server-rules-')));
  await writeFile(join(folder, 'git.rules'), 'prefix_rule(["git"], "prompt", justification="ask")\n');
});
afterAll(() => rm(folder, { recursive: true }));

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function execpolicy(args: readonly string[], cwd = folder): Promise<Outcome> {
  const child = spawn(process.execPath, [serverProgram, 'execpolicy', ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

const ended = (output: string): string => (output === '' ? '' : `${output}\n`);

describe('execpolicy check', () => {
  it.each(recordedChecks.map((one, at) => [one.name, one, at] as const))(
    'prints what the reference prints: %s',
    async (_, one, at) => {
      const cwd = join(folder, String(at));
      await mkdir(cwd);
      const files = one.rules.map((_rules, index) => `p${index}.rules`);
      await Promise.all(files.map((file, index) => writeFile(join(cwd, file), one.rules[index]!)));

      const outcome = await execpolicy(
        ['check', ...files.flatMap((file) => ['-r', file]), ...one.flags, ...one.command],
        cwd,
      );

      expect(outcome).toEqual({
        code: one.rc,
        stdout: ended(one.stdout.replace('<cwd>', cwd)),
        stderr: ended(one.stderr),
      });
    },
  );

  it('prints over several lines when asked to, and takes everything from the first word on as the command', async () => {
    expect(await execpolicy(['check', '--rules=git.rules', '--pretty', 'git', '--help', '-r'])).toEqual({
      code: 0,
      stdout: `{
  "matchedRules": [
    {
      "prefixRuleMatch": {
        "matchedPrefix": [
          "git"
        ],
        "decision": "prompt",
        "justification": "ask"
      }
    }
  ],
  "decision": "prompt"
}
`,
      stderr: '',
    });
  });

  it.each([
    ['no-such.rules', 'No such file or directory (os error 2)'],
    ['.', 'Is a directory (os error 21)'],
    ['latin1.rules', 'stream did not contain valid UTF-8'],
  ])('exits with 1 and the reason when %s cannot be read', async (file, reason) => {
    await writeFile(join(folder, 'latin1.rules'), Uint8Array.of(0xe9));

    expect(await execpolicy(['check', '-r', file, 'a'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: failed to read policy at ${file}\n\nCaused by:\n    ${reason}\n`,
    });
  });

  it.each([
    [[], 'a command is required'],
    [['chek'], "unrecognized subcommand 'chek'"],
    [['check'], 'the following required arguments were not provided:\n  --rules <PATH>\n  <COMMAND>...\n'],
    [['check', '-r', 'git.rules'], 'the following required arguments were not provided:\n  <COMMAND>...\n'],
    [['check', 'git'], 'the following required arguments were not provided:\n  --rules <PATH>\n'],
    [['check', '-r'], "a value is required for '-r'"],
    [['check', '-r', 'git.rules', '--prety', 'git'], "unexpected argument '--prety'"],
    [['check', '-r', 'git.rules', '--pretty=1', 'git'], '--pretty takes no value'],
  ])('calls %j wrong usage and exits with 2', async (args, reason) => {
    const { code, stdout, stderr } = await execpolicy(args);

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`error: ${reason}`);
  });

  it.each([
    [['--help']], // where wrong usage leads to
    [['check', '--help']],
  ])('explains itself: %j', async (args) => {
    const { code, stdout, stderr } = await execpolicy(args);

    expect([code, stderr]).toEqual([0, '']);
    for (const part of ['check', '-r, --rules <PATH>', '--pretty', '--resolve-host-executables', 'Exit codes:']) {
      expect(stdout).toContain(part);
    }
  });
});
