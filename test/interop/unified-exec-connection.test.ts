import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BothHands } from './both-hands.ts';
import { CodexExec } from './codex-exec.ts';
import { type Hands, open, play, poll, run, type Scripts, type Step, type } from './tool-script.ts';
import type { Disguise } from './wire-tap.ts';
import { fileAppears, untilFile } from './workspace.ts';

/** Something that happens between two answers of a model. */
const happens =
  (work: (hands: Hands) => unknown): Step =>
  async (_, hands) => {
    await work(hands);
    return [];
  };
const cut = happens(({ tap }) => tap.cut());
const refuse = happens(({ tap }) => {
  tap.refusing = true;
});
const mend = happens(({ tap }) => {
  tap.refusing = false;
});
const make = (name: string) => happens(({ cwd }) => writeFile(join(cwd, name), ''));

const playBoth = (hands: BothHands<CodexExec>, scripts: Scripts) =>
  Promise.all([play(scripts, hands.theirs), play(scripts, hands.ours)]);

it('our tools and the real client say the same about commands whose connection is cut and resumed', async () => {
  await using hands = await BothHands.open(CodexExec);
  const printed = happens(({ cwd }) => fileAppears(join(cwd, 'printed'), hands.rig.signal));
  const prints = `seq 1 50; ${untilFile('go')}; seq 51 99; touch printed; ${untilFile('end')}; seq 100 120; exit 6`;
  const reads = 'stty -echo; echo ready; read line; echo "got $line"';
  const outage = [refuse, cut, make('go'), printed, mend, make('end')];

  const [theirs, ours] = await playBoth(hands, {
    'a command that prints meanwhile': [open(prints), ...outage, poll(), poll()],
    'a terminal that is typed into afterwards': [
      open(reads, { tty: true }),
      ...outage.map(() => happens(() => {})),
      type('hello\n'),
      run('echo still here'),
    ],
  });
  await hands.rig.finish();

  expect(ours).toEqual(theirs);
  expect(hands.rig.wire.requests('initialize')).toHaveLength(2);
});

/** The server has forgotten everybody. */
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
  await using hands = await BothHands.open(CodexExec, { disguise: forgetful });

  const [theirs, ours] = await playBoth(hands, {
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
  await hands.rig.finish();

  const [theirStart, theirLoss, theirLook, theirAttempt, theirReturn] = theirs.lost!;
  const [ourStart, ourLoss, ourLook, ourAttempt, ourReturn] = ours.lost!;
  expect([ourStart, ourLook, ourReturn]).toEqual([theirStart, theirLook, theirReturn]);
  expect(theirLoss).toMatch(/^write_stdin failed: Unified exec process failed: exec-server transport disconnected: /);
  expect(ourLoss).toMatch(/^write_stdin failed: Unified exec process failed: the connection was lost and the session /);
  expect(theirAttempt).toMatch(/^exec_command failed: CreateProcess .* exec-server connection attempt failed: /);
  expect(ourAttempt).toMatch(/^No usable execution environment is available\. /);
});
