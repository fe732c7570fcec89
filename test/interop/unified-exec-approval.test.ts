import { describe, expect, it } from 'vitest';
import { type Approval, everyQuestion } from './codex.ts';
import { CodexAppServer } from './codex-app-server.ts';
import { PairedTools, type PairedToolsOptions } from './paired-tools.ts';
import { open, play, run, type Scripts, type Step, type } from './tool-script.ts';
import type { Message } from './wire-log.ts';
import type { Disguise } from './wire-tap.ts';

const escalated = { sandbox_permissions: 'require_escalated', justification: 'May I?' };
const reads = 'stty -echo; echo ready; read line; echo "got $line" # yes';
const patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch\nEOF\n";

/** Some policies refuse the command. */
const ifOpen =
  (step: Step): Step =>
  (sessions, pair) =>
    sessions.length === 0 ? [] : step(sessions, pair);

/** The user says yes to whatever has the word in it. */
const scripts: Scripts = {
  'a wish to leave the sandbox, granted': [run('echo x > yes-1.txt && cat yes-1.txt', escalated)],
  'a wish to leave the sandbox, declined': [run('echo x > no.txt', escalated)],
  'a wish without a reason': [run('echo x > yes-2.txt', { sandbox_permissions: 'require_escalated' })],
  'a reason without a wish': [run('echo yes', { justification: 'May I?' })],
  'the same wish twice': [run('echo again # yes', escalated), run('echo again # yes', escalated)],
  'a wish with a rule for the future': [run('echo ruled # yes', { ...escalated, prefix_rule: ['echo'] })],
  'a wish for more permissions': [run('echo yes', { sandbox_permissions: 'with_additional_permissions' })],
  'more permissions without a wish': [run('echo yes', { additional_permissions: { network: { enabled: true } } })],
  'a failure that is no denial': [run('exit 12 # yes')],
  'a program that is not there': [run('no-such-program 2>&1 # yes')],
  'a directory that is not there': [run('true # yes', { workdir: '/missing' })],
  'a dangerous command, granted': [run('rm -rf yes-3')],
  'a dangerous command, declined': [run('rm -rf nothing')],
  'the network, off inside': [run('echo "[$CODEX_SANDBOX_NETWORK_DISABLED]" # yes')],
  'the network, off outside too': [run('echo "[$CODEX_SANDBOX_NETWORK_DISABLED]" # yes', escalated)],
  'text for a terminal outside, granted': [open(reads, { ...escalated, tty: true }), ifOpen(type('yes\n'))],
  'text for a terminal outside, declined': [
    open(reads, { ...escalated, tty: true }),
    ifOpen(type('no\n')),
    ifOpen(type('then yes\n')),
  ],
  'a patch that the sandbox refuses': [run(patch)],
  'text for a terminal inside': [open(reads, { tty: true }), type('no\n')],
};

const denials: Scripts = {
  'a denial, retried': [run('echo x > yes-1.txt && cat yes-1.txt')],
  'a denial, not retried': [run('echo x > no.txt')],
  'a denial of a command that was granted': [run('echo x > yes-2.txt && cat yes-2.txt', escalated)],
};

const outside = (file: string) => `echo x > ../outside/${file} && cat ../outside/${file}`;
const additional = (args: object) => ({
  sandbox_permissions: 'with_additional_permissions',
  justification: 'May I?',
  additional_permissions: args,
});
const grants: Scripts = {
  'what the workspace allows': [run('echo x > in.txt && cat in.txt')],
  'what it does not': [run(outside('plain.txt'))],
  'a path, granted': [run(outside('yes-1.txt'), additional({ file_system: { write: ['../outside'] } }))],
  'a path, declined': [run(outside('no.txt'), additional({ file_system: { write: ['../outside'] } }))],
  'a path that does not help': [run(outside('yes-2.txt'), additional({ file_system: { write: ['elsewhere'] } }))],
  'a path to read': [run('head -c 4 /proc/version # yes', additional({ file_system: { read: ['/proc'] } }))],
  'the network': [run('echo "[$CODEX_SANDBOX_NETWORK_DISABLED]" # yes', additional({ network: { enabled: true } }))],
  'nothing in particular': [run('echo yes', additional({}))],
  'a network that stays off': [run('echo yes', additional({ network: { enabled: false } }))],
  'a network of no kind': [run('echo yes', additional({ network: {} }))],
  'a network and paths that are none': [run('echo yes', additional({ network: {}, file_system: { read: [] } }))],
  'paths that are none': [run('echo yes', additional({ file_system: { write: [] } }))],
  'a wish without the word for it': [
    run('echo yes', { additional_permissions: { network: { enabled: true } } }),
    run('echo yes', { sandbox_permissions: 'use_default', additional_permissions: { network: { enabled: true } } }),
  ],
  'the word without a wish': [run('echo yes', { sandbox_permissions: 'with_additional_permissions' })],
  'two wishes at once': [run('echo yes', { ...escalated, additional_permissions: { network: { enabled: true } } })],
  'a patch inside': [run(patch), run('cat made.txt')],
  'a patch outside': [run(patch.replace('made.txt', '../outside/patched.txt'))],
};

const policies: [name: string, approval: Approval, retries: boolean][] = [
  ['never', 'never', false],
  ['on request', 'on-request', false],
  ['untrusted', 'untrusted', true],
  ['granular', { granular: everyQuestion }, true],
  ['granular without sandbox approval', { granular: { ...everyQuestion, sandbox_approval: false } }, false],
];

/** What both models saw and what both users were asked. Calls that run side by side ask in any order. */
async function compare(played: Scripts, options: PairedToolsOptions) {
  const accepts = (command: string) => command.includes('yes');
  await using pair = await PairedTools.open(CodexAppServer, { sandbox: 'read-only', accepts, ...options });
  const [theirs, ours] = await Promise.all([play(played, pair.theirs), play(played, pair.ours)]);
  await pair.rig.finish();
  return {
    theirs: { texts: theirs, questions: normal(pair.rig.client.questions) },
    ours: { texts: ours, questions: normal(pair.questions) },
  };
}

const normal = (questions: PairedTools<CodexAppServer>['questions']): string[] =>
  questions
    .map(({ command, reason }) => `${command.replace(/session-id \d+/, 'session-id N')}: ${reason ?? 'no reason'}`)
    .sort();

/**
 * Answers a start when the command has ended: the real client retries a denial that comes within 150 ms of the answer,
 * and thus it does so however slow the machine is.
 */
function answersLate(): Disguise {
  const answers = new Map<string, Message>();
  return {
    alter: (message) => {
      const started = message.result?.sandboxType === undefined ? undefined : message.result.processId;
      if (started !== undefined) answers.set(started, message);
      if (message.method !== 'process/closed') return started === undefined ? message : [];
      return [message, answers.get(message.params?.processId ?? '') ?? []].flat();
    },
  };
}

describe.each(policies)('with a sandbox and the approval policy %s', (_, approval, retries) => {
  it('our tools and the real client ask the same and say the same', async () => {
    const { theirs, ours } = await compare(scripts, { approval });
    expect(ours).toEqual(theirs);
  });

  it('our tools and the real client make the same of denials', async () => {
    const { theirs, ours } = await compare(denials, { approval, disguise: answersLate });
    expect(ours).toEqual(theirs);
    expect(theirs.texts['a denial, retried']?.[0]?.endsWith('\nOutput:\nx\n')).toBe(retries);
  });
});

it.each(policies)(
  'our tools and the real client make the same of wishes for more within a sandbox under the policy %s',
  async (_, approval) => {
    const options: PairedToolsOptions = {
      approval,
      sandbox: 'workspace-write',
      tools: { additionalPermissions: true },
    };
    const { theirs, ours } = await compare(grants, options);
    expect(ours).toEqual(theirs);
  },
);

describe('other than the real client', () => {
  const approval = { granular: everyQuestion };

  it('our tools also retry a late denial, if the command has shown nothing else', async () => {
    const late = 'a late denial';
    const { theirs, ours } = await compare({ [late]: [run('sleep 0.5; echo x > yes.txt')] }, { approval });

    expect(theirs.questions).toEqual([]);
    expect(theirs.texts[late]?.[0]).toContain('Process exited with code 1\n');
    expect(ours.questions).toEqual([expect.stringMatching(/: command failed; retry without sandbox\?$/)]);
    expect(ours.texts[late]?.[0]).toContain('Process exited with code 0\n');
  });
});
