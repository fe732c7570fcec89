import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ApprovalDecision,
  type ApprovalRequest,
  callbackApprover,
  Orchestrator,
  parseApprovalPolicy,
} from '../../../src/agent/approval/index.ts';
import { RulesStore } from '../../../src/agent/rules/index.ts';
import { permissionsOf, type SandboxMode } from '../../../src/agent/unified-exec/index.ts';
import { ExecFixture } from './fixture.ts';

interface Setting {
  readonly policy: string;
  readonly sandbox: SandboxMode;
  readonly decision?: ApprovalDecision;
}

let outside: string;
let questions: ApprovalRequest[];

beforeEach(async () => {
  outside = await realpath(await mkdtemp(join(homedir(), '.unified-exec-patches-')));
  questions = [];
});

afterEach(() => rm(outside, { recursive: true, force: true }));

async function open({ policy, sandbox, decision = 'accept' }: Setting): Promise<ExecFixture> {
  const approver = callbackApprover((question) => {
    questions.push(question);
    return { decision };
  });
  const orchestrator = new Orchestrator({
    policy: parseApprovalPolicy(policy),
    approver,
    rules: await RulesStore.open({}),
  });
  const settings = { permissions: permissionsOf(sandbox) };
  return ExecFixture.open('server', { settings, orchestrator, additionalPermissions: true });
}

const adding = (path: string): string =>
  `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch\nEOF\n`;

describe('a patch instead of a command', () => {
  it.each([
    [
      'never',
      'read-only',
      'patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings',
    ],
    ['never', 'workspace-write', 'patch rejected: writing outside of the project; rejected by user approval settings'],
    [
      'granular:rules',
      'workspace-write',
      'patch rejected: writing outside of the project; rejected by user approval settings',
    ],
  ] as const)('is refused under %s, %s, where it wants to write and may not', async (policy, sandbox, text) => {
    await using box = await open({ policy, sandbox });
    const file = join(outside, 'file');

    expect(await box.run(adding(file))).toMatchObject({ text, success: false });
    expect([existsSync(file), questions]).toEqual([false, []]);
  });

  it.each([
    ['never', 'workspace-write'],
    ['on-request', 'workspace-write'],
    ['on-request', 'danger-full-access'],
  ] as const)('is nothing to ask about under %s, %s, where it may write', async (policy, sandbox) => {
    await using box = await open({ policy, sandbox });

    expect((await box.run(adding('file'))).text).toContain('A file');
    expect([readFileSync(join(box.cwd, 'file'), 'utf8'), questions]).toEqual(['x\n', []]);
  });

  it.each(['workspace-write', 'danger-full-access'] as const)(
    'is always asked about where nothing is trusted, %s',
    async (sandbox) => {
      await using box = await open({ policy: 'untrusted', sandbox, decision: 'decline' });

      expect(await box.run(adding('file'))).toMatchObject({ text: 'patch rejected by user', success: false });
      expect([existsSync(join(box.cwd, 'file')), questions.length]).toEqual([false, 1]);
    },
  );

  it.each(['file', 'not/there/yet/file'])('writes %s outside the project when the user agrees', async (name) => {
    await using box = await open({ policy: 'on-request', sandbox: 'workspace-write' });
    const patch = adding(join(outside, name));

    expect((await box.run(patch)).text).toContain(`A ${join(outside, name)}`);
    expect(readFileSync(join(outside, name), 'utf8')).toBe('x\n');
    expect(questions).toMatchObject([
      {
        kind: 'fileChange',
        command: `apply_patch ${join(outside, name)}`,
        changes: [{ kind: 'add', path: join(outside, name), diff: ['+x'] }],
        outside: [join(outside, name)],
      },
    ]);
  });

  it('is asked about before what it asks for on top counts', async () => {
    await using box = await open({ policy: 'on-request', sandbox: 'read-only', decision: 'decline' });
    const more = {
      sandbox_permissions: 'with_additional_permissions',
      additional_permissions: { file_system: { write: [outside] } },
    };

    expect((await box.run(adding(join(outside, 'file')), more)).text).toBe('patch rejected by user');
    expect([existsSync(join(outside, 'file')), questions.length]).toEqual([false, 1]);
  });

  it('cannot leave the project by a link', async () => {
    await using box = await open({ policy: 'on-request', sandbox: 'workspace-write' });
    symlinkSync(outside, join(box.cwd, 'link'));

    expect((await box.run(adding('link/file'))).success).toBe(false);
    expect([existsSync(join(outside, 'file')), questions]).toEqual([false, []]);
  });

  it('that does not fit the files is no question', async () => {
    await using box = await open({ policy: 'untrusted', sandbox: 'read-only' });
    const patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: nope\n*** End Patch\nEOF\n";

    expect((await box.run(patch)).text).toMatch(/^apply_patch verification failed: /);
    expect(questions).toEqual([]);
  });

  it('into the repository of a project is asked about', async () => {
    await using box = await open({ policy: 'on-request', sandbox: 'workspace-write', decision: 'decline' });

    expect((await box.run(adding('.git/hooks/pre-commit'))).text).toBe('patch rejected by user');
    expect(questions.length).toBe(1);
  });
});
