import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rename, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ApprovalDecision,
  type ApprovalPolicy,
  type ApprovalRequest,
  Cancelled,
  callbackApprover,
  Orchestrator,
  parseApprovalPolicy,
} from '../../../src/agent/approval/index.ts';
import { RulesStore } from '../../../src/agent/rules/index.ts';
import { type ExecBackend, localBackend } from '../../../src/agent/unified-exec/index.ts';
import type { PermissionProfile } from '../../../src/protocol/index.ts';
import { testHost } from '../../support/host.ts';
import { ExecFixture, type FixtureOptions, type Place } from './fixture.ts';

const places: Place[] = ['here', 'server'];

const readOnly: PermissionProfile = {
  type: 'managed',
  file_system: {
    type: 'restricted',
    entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
  },
  network: 'restricted',
};

const granular = parseApprovalPolicy('granular:sandbox_approval,rules');

/** An approver that always gives the same answer and remembers the questions. */
class User {
  readonly questions: ApprovalRequest[] = [];
  decision: ApprovalDecision;
  /** Happens before the answer. */
  onQuestion: () => Promise<void> = async () => {};

  constructor(decision: ApprovalDecision) {
    this.decision = decision;
  }

  async orchestrator(policy: ApprovalPolicy): Promise<Orchestrator> {
    const approver = callbackApprover(async (question) => {
      this.questions.push(question);
      await this.onQuestion();
      return { decision: this.decision };
    });
    return new Orchestrator({ policy, approver, rules: await RulesStore.open({}) });
  }
}

interface Confined {
  readonly policy: ApprovalPolicy;
  readonly user: User;
  readonly options?: FixtureOptions;
}

async function confined(place: Place, { policy, user, options }: Confined): Promise<ExecFixture> {
  return ExecFixture.open(place, {
    settings: { permissions: readOnly },
    orchestrator: await user.orchestrator(policy),
    ...options,
  });
}

describe.each(places)('commands in a sandbox, run %s', (place) => {
  it('are told that the network is off, and keep the output of a refusal', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: 'on-request', user });

    const { facts } = await box.run('echo "$CODEX_SANDBOX_NETWORK_DISABLED"; touch file 2>&1');

    expect(facts!.output).toMatch(/^1\n.*Read-only file system\n$/s);
    expect([facts!.exit_code, user.questions]).toEqual([1, []]);
  });

  it('run again outside it when they were refused and the user agrees', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: granular, user });

    const { facts } = await box.run('touch file && echo made');
    const events = await box.allEvents();

    expect(facts).toMatchObject({ exit_code: 0, output: 'made\n' });
    expect(existsSync(join(box.cwd, 'file'))).toBe(true);
    expect(user.questions).toMatchObject([{ kind: 'command', reason: 'command failed; retry without sandbox?' }]);
    expect(events.map(({ type }) => type)).toEqual(['ExecCommandBegin', 'ExecCommandOutputDelta', 'ExecCommandEnd']);
    expect(events[0]).toMatchObject({ source: 'agent' });
    expect(events[0]).not.toHaveProperty('process_id');
    expect(events[2]).toMatchObject({ source: 'unified_exec_startup', process_id: expect.any(String), exit_code: 0 });
  });

  it('are judged by what they did, not by how long their shell took to start', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: granular, user });

    const { facts } = await box.run('sleep 0.4; touch file && echo made');

    expect(facts).toMatchObject({ exit_code: 0, output: 'made\n' });
    expect(user.questions).toHaveLength(1);
    const events = await box.allEvents();
    expect(events.filter(({ type }) => type !== 'ExecCommandOutputDelta').map(({ type }) => type)).toEqual([
      'ExecCommandBegin',
      'ExecCommandEnd',
    ]);
    expect(events.at(-1)).toMatchObject({ exit_code: 0, stdout: 'made\n' });
  });

  it('do not run again when they have done more than be refused', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: granular, user });

    const { facts } = await box.run('echo first; sleep 0.4; touch file');

    expect(facts).toMatchObject({ exit_code: 1, output: expect.stringContaining('first\n') });
    expect(user.questions).toEqual([]);
  });

  it('leave nothing behind when the user does not want them to run again', async () => {
    const user = new User('decline');
    await using box = await confined(place, { policy: granular, user });

    const { text } = await box.run('sleep 0.4; touch file');

    expect(text).toBe('exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }');
    expect(box.exec.sessions).toEqual([]);
    expect(await box.event('ExecCommandEnd')).toMatchObject({ exit_code: 1, status: 'failed' });
  });

  it('start in the directory the user was asked about, or not at all', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: 'on-request', user });
    const [work, moved] = [join(box.cwd, 'work'), join(box.cwd, 'moved')];
    await mkdir(work);
    const escalated = { workdir: 'work', sandbox_permissions: 'require_escalated' };

    const usual = await box.run('echo ran > usual', escalated);
    user.onQuestion = async () => {
      await rename(work, moved);
      await symlink(box.cwd, work);
    };
    const swapped = await box.run('echo ran > swapped', escalated);

    expect(usual.facts).toMatchObject({ exit_code: 0 });
    expect(swapped.text).toContain(`the working directory ${work} has been replaced since the question`);
    expect(existsSync(join(work, 'swapped'))).toBe(false);
    expect(existsSync(join(moved, 'usual'))).toBe(true);
  });

  it('are held to that directory by the machine that starts them', async () => {
    const user = new User('accept');
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'unified-exec-')));
    const [work, moved] = [join(folder, 'work'), join(folder, 'moved')];
    await mkdir(work);
    const backend = localBackend({ host: testHost() });
    const late: ExecBackend = {
      isLocal: place === 'here',
      info: (signal) => backend.info(signal),
      fileSystem: () => backend.fileSystem(),
      start: async (options, signal) => {
        await rename(work, moved); // after everything was looked at
        await symlink(folder, work);
        return backend.start(options, signal);
      },
      [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
    };
    await using box = await confined(place, { policy: 'on-request', user, options: { backends: { box: late } } });

    const { text } = await box.run('echo ran > file', { workdir: work, sandbox_permissions: 'require_escalated' });

    expect(text).toContain(`the working directory ${work} is another one than`);
    expect(existsSync(join(work, 'file'))).toBe(false);
    await rm(folder, { recursive: true });
  });

  it('end as declined when the user says no, with the usual words', async () => {
    const user = new User('decline');
    await using box = await confined(place, { policy: 'on-request', user });

    const { text, success } = await box.run('echo ran', { sandbox_permissions: 'require_escalated' });
    const events = await box.allEvents();

    expect({ text, success }).toEqual({
      text: 'exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }',
      success: false,
    });
    expect(events).toMatchObject([
      { type: 'ExecCommandBegin', source: 'agent' },
      { type: 'ExecCommandEnd', source: 'agent', status: 'declined', exit_code: -1, stderr: 'rejected by user' },
    ]);
  });

  it('end as failed when the user agrees to what cannot be started', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: 'on-request', user });

    const { text } = await box.run('true', { sandbox_permissions: 'require_escalated', workdir: '/missing' });
    const events = await box.allEvents();

    expect(text).toContain('Failed to create unified exec process: exec-server rejected request (-32603)');
    expect(events).toMatchObject([{ type: 'ExecCommandBegin' }, { type: 'ExecCommandEnd', status: 'failed' }]);
  });

  it('end the turn when the user cancels', async () => {
    const user = new User('cancel');
    await using box = await confined(place, { policy: 'on-request', user });

    const call = box.run('echo ran', { sandbox_permissions: 'require_escalated' });

    await expect(call).rejects.toBeInstanceOf(Cancelled);
    const events = await box.allEvents();
    expect(events.at(-1)).toMatchObject({ type: 'ExecCommandEnd', status: 'declined' });
  });

  it('may not leave it under a policy that forbids asking', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: 'never', user });

    const { text } = await box.run('echo ran', { sandbox_permissions: 'require_escalated' });

    expect(text).toBe(
      'approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never',
    );
    expect(await box.allEvents()).toEqual([]);
  });

  it('get no input outside it without a question, which a poll is not', async () => {
    const user = new User('accept');
    await using box = await confined(place, { policy: 'on-request', user });

    const first = await box.run('stty -echo; cat', {
      tty: true,
      sandbox_permissions: 'require_escalated',
      yield_time_ms: 300,
    });
    const id = first.facts!.session_id!;
    const typed = await box.type(id, 'yes\n', { yield_time_ms: 300 });
    await box.shows(typed, /yes/);
    user.decision = 'decline';
    const refused = await box.type(id, 'no\n');

    expect(user.questions.map(({ kind }) => kind)).toEqual(['command', 'writeStdin', 'writeStdin']);
    expect(refused).toMatchObject({ text: 'write_stdin rejected: rejected by user', success: false });
  });

  it('get what they ask for on top of it when the user agrees, and nothing else', async () => {
    const user = new User('accept');
    const outside = await realpath(await mkdtemp(join(homedir(), '.unified-exec-')));
    try {
      await using box = await confined(place, { policy: 'on-request', user, options: { additionalPermissions: true } });

      const { facts } = await box.run(`touch ${outside}/file; touch file`, {
        sandbox_permissions: 'with_additional_permissions',
        additional_permissions: { file_system: { write: [outside] } },
      });

      expect(existsSync(join(outside, 'file'))).toBe(true);
      expect(facts!.output).toContain("'file': Read-only file system");
      expect(user.questions).toMatchObject([{ kind: 'command', additionalPermissions: { file_system: {} } }]);
    } finally {
      await rm(outside, { recursive: true, force: true });
    }
  });
});

describe('wishes that make no sense', () => {
  const withPermissions = { sandbox_permissions: 'with_additional_permissions' };
  it.each([
    [
      false,
      withPermissions,
      'additional permissions are disabled; enable `features.exec_permission_approvals` before using `with_additional_permissions`',
    ],
    [
      true,
      withPermissions,
      'missing `additional_permissions`; provide at least one of `network` or `file_system` when using `with_additional_permissions`',
    ],
    [
      true,
      { additional_permissions: {} },
      '`additional_permissions` must include at least one requested permission in `network` or `file_system`',
    ],
  ])('are refused: feature %s, %j', async (additionalPermissions, args, text) => {
    const user = new User('accept');
    await using box = await confined('here', { policy: 'on-request', user, options: { additionalPermissions } });

    expect((await box.run('true', args)).text).toBe(text);
  });
});
