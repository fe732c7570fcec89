import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CodexExec } from './codex-exec.ts';
import { PairedTools } from './paired-tools.ts';
import { open, play, poll, run, type Scripts, type Step, type ToolRunner, type } from './tool-script.ts';
import type { Disguise } from './wire-tap.ts';
import { fileAppears, untilFile } from './workspace.ts';

/** A step that makes no tool call: `work` is done between two answers of the model. */
const between =
  (work: (runner: ToolRunner) => unknown): Step =>
  async (_, runner) => {
    await work(runner);
    return [];
  };
const cut = between(({ tap }) => tap.cut());
const refuse = between(({ tap }) => {
  tap.refusing = true;
});
const mend = between(({ tap }) => {
  tap.refusing = false;
});
const make = (name: string) => between(({ cwd }) => writeFile(join(cwd, name), ''));

const playBoth = (pair: PairedTools<CodexExec>, scripts: Scripts) =>
  Promise.all([play(scripts, pair.theirs), play(scripts, pair.ours)]);

it('our tools and the real client say the same about commands whose connection is cut and resumed', async () => {
  await using pair = await PairedTools.open(CodexExec);
  const printed = between(({ cwd }) => fileAppears(join(cwd, 'printed'), pair.rig.signal));
  const prints = `seq 1 50; ${untilFile('go')}; seq 51 99; touch printed; ${untilFile('end')}; seq 100 120; exit 6`;
  const reads = 'stty -echo; echo ready; read line; echo "got $line"';
  const outage = [refuse, cut, make('go'), printed, mend, make('end')];

  const [theirs, ours] = await playBoth(pair, {
    'a command that prints meanwhile': [open(prints), ...outage, poll(), poll()],
    'a terminal that is typed into afterwards': [
      open(reads, { tty: true }),
      ...outage.map(() => between(() => {})),
      type('hello\n'),
      run('echo still here'),
    ],
  });
  await pair.rig.finish();

  expect(ours).toEqual(theirs);
  expect(pair.rig.wire.requests('initialize')).toHaveLength(2);
});

/** A server that has forgotten every session. */
const forgetful = (): Disguise => ({
  answer: ({ id, method, params }) =>
    method === 'initialize' && params?.resumeSessionId
      ? {
          ...(id !== undefined && { id }),
          error: { code: -32600, message: `unknown session id ${params.resumeSessionId}` },
        }
      : undefined,
});

it('our tools and the real client give up a lost session, each in its own words, and go on in a new one', async () => {
  await using pair = await PairedTools.open(CodexExec, { disguise: forgetful });

  const [theirs, ours] = await playBoth(pair, {
    lost: [
      open('echo one; exec sleep 300'),
      cut,
      poll(),
      poll(),
      refuse,
      run('echo unreachable'),
      mend,
      run('echo back'),
    ],
  });
  await pair.rig.finish();

  const [theirStart, theirLoss, theirLook, theirAttempt, theirReturn] = theirs.lost!;
  const [ourStart, ourLoss, ourLook, ourAttempt, ourReturn] = ours.lost!;
  expect([ourStart, ourLook, ourReturn]).toEqual([theirStart, theirLook, theirReturn]);
  expect(theirLoss).toMatch(/^write_stdin failed: Unified exec process failed: exec-server transport disconnected: /);
  expect(ourLoss).toMatch(/^write_stdin failed: Unified exec process failed: the connection was lost and the session /);
  expect(theirAttempt).toMatch(/^exec_command failed: CreateProcess .* exec-server connection attempt failed: /);
  expect(ourAttempt).toMatch(/^No usable execution environment is available\. /);
});
