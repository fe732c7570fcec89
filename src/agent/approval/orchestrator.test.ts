import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scriptRequest as command, escalated, readOnly } from '../../../test/support/script-request.ts';
import { deferred } from '../../base/index.ts';
import { RulesStore } from '../rules/index.ts';
import { type ApprovalAnswer, type ApprovalRequest, callbackApprover, denyAll } from './approver.ts';
import type { ChangeRequest } from './change-review.ts';
import type { CommandRequest } from './command-request.ts';
import { type AttemptOptions, Orchestrator } from './orchestrator.ts';
import { type ApprovalPolicy, parseApprovalPolicy } from './policy.ts';
import { Cancelled, Rejected } from './rejection.ts';

const granular = parseApprovalPolicy('granular:sandbox_approval,rules');

/** An orchestrator, what it asked, and the attempts it made; attempts in the sandbox are denied if `denies`. */
async function arrange(policy: ApprovalPolicy, answer: ApprovalAnswer | Error = { decision: 'accept' }, text = '') {
  const home = await mkdtemp(join(tmpdir(), 'approval-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const addTo = join(home, 'default.rules');
  if (text !== '') await writeFile(join(home, 'a.rules'), text);
  const questions: ApprovalRequest[] = [];
  const attempts: AttemptOptions[] = [];
  const problems: Error[] = [];
  const approver = callbackApprover((question) => {
    questions.push(question);
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const rules = await RulesStore.open({ addTo });
  const orchestrator = new Orchestrator({ policy, approver, rules, onProblem: (error) => problems.push(error) });
  const run = (request: CommandRequest, denies = false) =>
    orchestrator.run(request, async (options) => {
      attempts.push(options);
      const value = options.sandboxed ? 'from inside' : 'from outside';
      return { kind: denies && options.sandboxed ? 'denied' : 'done', value };
    });
  return { orchestrator, run, questions, attempts, problems, addTo };
}

const inside = { sandboxed: true, number: 1 };
const outside = { sandboxed: false, number: 1 };
const byRule = { ...outside, byRule: true };
const again = { sandboxed: false, number: 2 };

describe('a command that needs no approval', () => {
  it('runs inside the sandbox if there is anything to confine it to, and outside otherwise', async () => {
    const { run, questions, attempts } = await arrange('on-request');
    const free = { ...readOnly, restrictsFiles: false };

    expect(await run(command('uname'))).toEqual({ value: 'from inside', sandboxed: true });
    await run(command('uname', { confinement: { ...free, managedNetwork: true } }));
    await run(command('uname', { confinement: { ...free, restrictsNetwork: true } }));
    expect(await run(command('uname', { confinement: free }))).toEqual({ value: 'from outside', sandboxed: false });
    expect(attempts).toEqual([inside, inside, inside, outside]);
    expect(questions).toEqual([]);
  });

  it('leaves the sandbox when rules allow all of it, unless something is enforced in there alone', async () => {
    const { run, attempts } = await arrange('on-request', undefined, 'prefix_rule(pattern=["touch"])');
    await run(command('touch t'));
    await run(command('touch t && uname'));
    await run(command('touch t', { confinement: { ...readOnly, hasDeniedReads: true } }));
    await run(command('touch t', { confinement: { ...readOnly, ownNetworkPolicy: true } }));

    expect(attempts).toEqual([byRule, inside, inside, inside]);
  });
});

describe('the directory of a command', () => {
  it('is the one that was there when the question was asked, or the command does not run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'approval-cwd-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const cwd = join(folder, 'place');
    await mkdir(cwd);
    const ran: string[] = [];
    const approver = callbackApprover(async () => {
      await rename(cwd, join(folder, 'moved'));
      await symlink('/', cwd);
      return { decision: 'accept' };
    });
    const orchestrator = new Orchestrator({ policy: 'on-request', approver, rules: await RulesStore.open({}) });
    const request = command('rm -r build', { ...escalated, cwd, environmentId: 'local' });

    await expect(
      orchestrator.run(request, async () => {
        ran.push('it ran');
        return { kind: 'done', value: '' };
      }),
    ).rejects.toThrow(`the working directory ${cwd} has been replaced since the question`);
    expect(ran).toEqual([]);
  });
});

describe('git that rules allow', () => {
  const rules = 'prefix_rule(pattern=["git"])';

  async function repository(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'approval-git-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    execFileSync('git', ['init', '-q'], { cwd: folder });
    return folder;
  }

  it('leaves the sandbox where its repository names no program, and is asked about where it does', async () => {
    const cwd = await repository();
    const { run, questions, attempts } = await arrange('on-request', undefined, rules);
    await run(command('git status', { cwd, environmentId: 'local' }));
    execFileSync('git', ['config', 'core.fsmonitor', '/x'], { cwd });
    await run(command('git status && git log', { cwd, environmentId: 'local' }));

    expect(attempts).toEqual([byRule, { ...byRule, directory: expect.stringMatching(/^\d+:\d+$/) }]);
    expect(questions).toMatchObject([{ kind: 'command', reason: `${cwd}/.git/config says fsmonitor = /x` }]);
  });

  it('is asked about where commands in a sandbox could give it another repository meanwhile', async () => {
    const cwd = await repository();
    await mkdir(join(cwd, 'sub'));
    const { run, questions, attempts } = await arrange('on-request', undefined, rules);
    const isWritable = (path: string) => path.startsWith(`${cwd}/`) && !path.startsWith(`${cwd}/.git`);
    await run(command('git status', { cwd, environmentId: 'local', isWritable }));
    await run(command('git status', { cwd: join(cwd, 'sub'), environmentId: 'local', isWritable }));
    await run(command('git -C sub status', { cwd, environmentId: 'local', isWritable }));

    expect(attempts[0]).toEqual(byRule);
    expect(questions).toMatchObject([
      { kind: 'command', reason: `commands can write ${cwd}/sub` },
      { kind: 'command', reason: `commands can write ${cwd}/sub` },
    ]);
  });

  it('stays in the sandbox where the user may not be asked', async () => {
    const cwd = await repository();
    const { run, questions, attempts } = await arrange('never', undefined, rules);
    await run(command('git -c core.fsmonitor=/x status', { cwd, environmentId: 'local' }));
    await run(command('git status', { cwd, environmentId: 'elsewhere' }));
    await run(command('git status', { cwd, environmentId: 'local' }));

    expect(attempts).toEqual([inside, inside, byRule]);
    expect(questions).toEqual([]);
  });
});

describe('a command that is asked about', () => {
  it('tells the user all there is to know', async () => {
    const { run, questions } = await arrange('on-request');
    const additionalPermissions = { network: { enabled: true } };
    await run(
      command('head -n 1 f', {
        ...escalated,
        turnId: 'turn_1',
        prefixRule: ['head'],
        additionalPermissions,
        tty: true,
      }),
    );

    expect(questions).toEqual([
      {
        kind: 'command',
        approvalId: expect.stringMatching(/./),
        itemId: 'call_1',
        turnId: 'turn_1',
        environmentId: 'box',
        startedAtMs: expect.any(Number),
        reason: 'may I',
        command: "/bin/bash -c 'head -n 1 f'",
        argv: ['/bin/bash', '-c', 'head -n 1 f'],
        cwd: '/work',
        tty: true,
        sandboxPermissions: 'require_escalated',
        additionalPermissions,
        actions: [{ type: 'read', command: 'head -n 1 f', name: 'f', path: '/work/f' }],
        proposedRule: ['head'],
        availableDecisions: ['accept', 'acceptWithRule', 'cancel'],
      },
    ]);
  });

  it('runs outside the sandbox when it wished to and was accepted, inside when it did not', async () => {
    const { run, attempts } = await arrange('untrusted');
    await run(command('uname', escalated));
    await run(command('uname'));
    await run(command('uname', { sandboxPermissions: 'with_additional_permissions' }));

    expect(attempts).toEqual([outside, inside, inside]);
  });

  it('stays inside even when accepted, where reads are denied', async () => {
    const { run, attempts } = await arrange('on-request');
    await run(command('uname', { ...escalated, confinement: { ...readOnly, hasDeniedReads: true } }), true);

    expect(attempts).toEqual([inside]);
  });

  it('never runs when declined, cancelled, forbidden or out of place', async () => {
    const declined = await arrange('untrusted', { decision: 'decline' });
    const cancelled = await arrange('untrusted', { decision: 'cancel' });
    const explained = await arrange('untrusted', { decision: 'decline', reason: 'not on a Sunday' });
    const never = await arrange('never');
    const own = { ...escalated, confinement: { ...readOnly, ownNetworkPolicy: true } };
    const accepting = await arrange('on-request');

    await expect(declined.run(command('uname'))).rejects.toEqual(new Rejected('user', 'rejected by user'));
    await expect(cancelled.run(command('uname'))).rejects.toBeInstanceOf(Cancelled);
    await expect(explained.run(command('uname'))).rejects.toThrow('not on a Sunday');
    await expect(never.run(command('rm -rf x'))).rejects.toMatchObject({ kind: 'policy' });
    await expect(never.run(command('ls', escalated))).rejects.toMatchObject({ kind: 'escalation' });
    await expect(accepting.run(command('ls', own))).rejects.toMatchObject({ kind: 'escalation' });
    for (const { attempts } of [declined, cancelled, explained, never, accepting]) expect(attempts).toEqual([]);
  });

  it('does not run when the approver fails, and says why', async () => {
    const { run, attempts } = await arrange('untrusted', new Error('the line is dead'));

    await expect(run(command('uname'))).rejects.toThrow('approval could not be asked for: the line is dead');
    expect(attempts).toEqual([]);
  });

  it('is declined where there is no user to ask', async () => {
    const rules = await RulesStore.open({});
    const orchestrator = new Orchestrator({ policy: 'untrusted', approver: denyAll, rules });
    const running = orchestrator.run(command('uname'), async () => ({ kind: 'done', value: 1 }));

    await expect(running).rejects.toThrow('this program has no user to ask');
  });

  it('says when the question begins and ends, also if it ends badly', async () => {
    const rules = await RulesStore.open({});
    const events: string[] = [];
    const hooks = { onQuestion: () => events.push('asked'), onAnswered: () => events.push('answered') };
    const orchestrator = new Orchestrator({ policy: 'untrusted', approver: denyAll, rules });
    await orchestrator.run(command('uname'), async () => ({ kind: 'done', value: 1 }), hooks).catch(() => {});

    expect(events).toEqual(['asked', 'answered']);
  });

  it('is cancelled when its caller has given up, even if the approver does not listen', async () => {
    const rules = await RulesStore.open({});
    const asked = deferred();
    let count = 0;
    const approver = callbackApprover(() => {
      count += 1;
      asked.resolve();
      return new Promise<never>(() => {});
    });
    const stop = new AbortController();
    const orchestrator = new Orchestrator({ policy: 'untrusted', approver, rules });
    const attempt = async () => ({ kind: 'done', value: 1 }) as const;
    const running = orchestrator.run(command('uname'), attempt, { signal: stop.signal });
    await asked.promise;
    stop.abort();

    await expect(running).rejects.toBeInstanceOf(Cancelled);
    await expect(orchestrator.run(command('uname'), attempt, { signal: stop.signal })).rejects.toThrow(Cancelled);
    expect(count).toBe(1);
  });
});

describe('an answer that lasts', () => {
  it('for the session spares equal calls the question, and no others', async () => {
    const { run, questions } = await arrange('on-request', { decision: 'acceptForSession' });
    await run(command('id -g', escalated));
    await run(command('id -g', { ...escalated, callId: 'call_2' }));
    expect(questions).toHaveLength(1);
    await run(command('id -g', { ...escalated, tty: true }));
    await run(command('id -G', escalated));
    expect(questions).toHaveLength(3);
  });

  it('as a rule is written down, counts at once, and lets such commands out of the sandbox', async () => {
    const { run, questions, attempts, addTo } = await arrange('on-request', { decision: 'acceptWithRule' });
    await run(command('rmdir x', { ...escalated, prefixRule: ['rmdir'] }));
    await run(command('rmdir y'));

    expect(await readFile(addTo, 'utf8')).toBe('prefix_rule(pattern=["rmdir"], decision="allow")\n');
    expect(questions).toHaveLength(1);
    expect(attempts).toEqual([outside, byRule]);
  });

  it('counts once when the rule cannot be written down, which is reported', async () => {
    const { run, questions, problems, addTo } = await arrange('untrusted', { decision: 'acceptWithRule' });
    await rm(join(addTo, '..'), { recursive: true });
    await writeFile(join(addTo, '..'), 'a file in the place of the folder');
    await run(command('rmdir x'));
    await run(command('rmdir x'));

    expect(questions).toHaveLength(2);
    expect(problems).toHaveLength(2);
  });

  it('as a rule is an ordinary yes when no rule was offered', async () => {
    const answer = { decision: 'acceptWithRule' } as const;
    const { run, attempts } = await arrange('untrusted', answer, 'prefix_rule(pattern=["ls"], decision="prompt")');
    await run(command('ls'));

    expect(attempts).toEqual([inside]);
  });
});

describe('a denial by the sandbox', () => {
  it.each<[string, ApprovalPolicy]>([
    ['never', 'never'],
    ['on-request', 'on-request'],
    ['granular without such questions', parseApprovalPolicy('granular:rules')],
  ])('is the result under %s', async (_, policy) => {
    const { run, questions, attempts } = await arrange(policy);

    expect(await run(command('printf x > y'), true)).toEqual({ value: 'from inside', sandboxed: true });
    expect([questions, attempts]).toEqual([[], [inside]]);
  });

  it('leads to a question and, accepted, to one attempt outside', async () => {
    const { run, questions, attempts } = await arrange(granular);

    expect(await run(command('printf x > y'), true)).toEqual({ value: 'from outside', sandboxed: false });
    expect(attempts).toEqual([inside, again]);
    expect(questions).toMatchObject([
      {
        reason: 'command failed; retry without sandbox?',
        proposedRule: ['/bin/bash', '-c', 'printf x > y'],
        availableDecisions: ['accept', 'acceptWithRule', 'cancel'],
      },
    ]);
  });

  it('of the second attempt as well is not tried a third time', async () => {
    const { orchestrator } = await arrange(granular);
    const numbers: number[] = [];
    const result = await orchestrator.run(command('x'), async ({ number }) => {
      numbers.push(number);
      return { kind: 'denied', value: number };
    });

    expect([result.value, numbers]).toEqual([2, [1, 2]]);
  });

  it('is not asked about again when the call was accepted already, now or for the session', async () => {
    const asked = await arrange('untrusted');
    await asked.run(command('printf x > y'), true);
    const remembered = await arrange(granular, { decision: 'acceptForSession' });
    await remembered.run(command('printf x > y'), true);
    await remembered.run(command('printf x > y'), true);

    expect([asked.questions.length, asked.attempts]).toEqual([1, [inside, again]]);
    expect([remembered.questions.length, remembered.attempts]).toEqual([1, [inside, again, inside, again]]);
  });

  it('is final when the user declines', async () => {
    const { run, attempts } = await arrange(granular, { decision: 'decline' });

    await expect(run(command('printf x > y'), true)).rejects.toThrow('rejected by user');
    expect(attempts).toEqual([inside]);
  });

  it.each(['hasDeniedReads', 'ownNetworkPolicy'])('is the result with %s, which hold inside alone', async (fact) => {
    const { run, questions, attempts } = await arrange(granular);
    await run(command('printf x > y', { confinement: { ...readOnly, [fact]: true } }), true);

    expect([questions, attempts]).toEqual([[], [inside]]);
  });
});

describe('changes to files', () => {
  const changing = (...paths: string[]): ChangeRequest => ({
    callId: 'call_1',
    environmentId: 'box',
    tool: 'apply_patch',
    changes: paths.map((path) => ({ kind: 'update', path, diff: [] })),
    outside: paths.filter((path) => !path.startsWith('/work/')),
    obstacle: 'writing outside of the project',
  });

  it('are asked about each time when they are accepted once', async () => {
    const { orchestrator, questions } = await arrange('on-request');

    await orchestrator.approveChanges(changing('/etc/a'));
    await orchestrator.approveChanges(changing('/etc/a'));

    expect(questions).toMatchObject([{ kind: 'fileChange' }, { kind: 'fileChange' }]);
  });

  it('accepted for the session are not asked about again, by whichever tool, but for other files', async () => {
    const { orchestrator, questions } = await arrange('untrusted', { decision: 'acceptForSession' });

    await orchestrator.approveChanges(changing('/work/a', '/etc/b'));
    await orchestrator.approveChanges({ ...changing('/etc/b'), tool: 'write_file' });
    await orchestrator.approveChanges(changing('/etc/b', '/work/a'));
    expect(questions).toHaveLength(1);

    await orchestrator.approveChanges(changing('/etc/b', '/work/c'));
    await orchestrator.approveChanges({ ...changing('/etc/b'), environmentId: 'other' });
    expect(questions).toHaveLength(3);
  });

  it('become no rule, whatever is answered', async () => {
    const { orchestrator, questions, addTo } = await arrange('on-request', { decision: 'acceptWithRule' });

    await orchestrator.approveChanges(changing('/etc/a'));
    await orchestrator.approveChanges(changing('/etc/a'));

    expect(questions).toHaveLength(2);
    await expect(readFile(addTo)).rejects.toThrow('ENOENT');
  });

  it.each([
    [{ decision: 'decline' }, new Rejected('user', 'rejected by user')],
    [{ decision: 'denyWithRule' }, new Rejected('user', 'rejected by user')],
    [{ decision: 'cancel' }, new Cancelled()],
    [new Error('no terminal'), new Rejected('policy', 'approval could not be asked for: no terminal')],
  ] as [ApprovalAnswer | Error, Error][])('are refused after %j', async (answer, failure) => {
    const { orchestrator } = await arrange('on-request', answer);

    await expect(orchestrator.approveChanges(changing('/etc/a'))).rejects.toEqual(failure);
  });
});
