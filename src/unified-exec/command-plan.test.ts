import { describe, expect, it } from 'vitest';
import { type ApprovalPolicy, denyAll, Orchestrator } from '../approval/index.ts';
import { RulesStore } from '../rules/index.ts';
import { planCommand } from './command-plan.ts';
import { Environments } from './environments.ts';
import type { ExecBackend } from './exec-backend.ts';

const backend = {
  isLocal: false,
  info: async () => ({ platformOs: 'linux', shell: { name: 'bash', path: '/bin/bash' } }),
} as unknown as ExecBackend;

async function complaint(args: object, policy?: ApprovalPolicy): Promise<string | undefined> {
  const orchestrator = policy && new Orchestrator({ policy, approver: denyAll, rules: await RulesStore.open({}) });
  const plan = planCommand(
    { cmd: 'true', ...args },
    {
      environments: new Environments({ box: backend }),
      settings: {},
      allowLoginShell: true,
      additionalPermissions: false,
      orchestrator,
    },
  );
  return plan.then(
    () => undefined,
    (error: Error) => error.message,
  );
}

const never =
  'approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never';
const unexplained =
  '`justification` requires an explicit `sandbox_permissions`; use `sandbox_permissions: "require_escalated"` for unsandboxed execution, or omit `justification`.';
const network = { network: { enabled: true } };

describe('a call that cannot be carried out', () => {
  it('is told about the directory first, then the reason, then the shell, then the sandbox', async () => {
    const wrong = {
      workdir: 'a\0b',
      justification: 'why',
      shell: 'fish',
      additional_permissions: network,
    };
    const { workdir: _, ...rest } = wrong;
    const { justification: __, ...more } = rest;
    const { shell: ___, ...last } = more;

    expect(await Promise.all([wrong, rest, more, last].map((args) => complaint(args, 'never')))).toEqual([
      "'a\0b' is invalid on 'linux'",
      unexplained,
      'environment `box` only supports `bash`',
      never,
    ]);
  });

  it.each([
    { sandbox_permissions: 'require_escalated' },
    { sandbox_permissions: 'with_additional_permissions' },
    { additional_permissions: {} },
    { sandbox_permissions: 'use_default', additional_permissions: network },
  ])('hears that nobody may be asked before anything about %j', async (args) => {
    expect(await Promise.all([complaint(args, 'never'), complaint(args)])).toEqual([never, never]);
  });

  it('hears that there are no additional permissions, also if it wants to leave the sandbox', async () => {
    const args = { sandbox_permissions: 'require_escalated', additional_permissions: network };

    expect(await complaint(args, 'on-request')).toMatch(/^additional permissions are disabled; /);
    expect(await complaint({ sandbox_permissions: 'require_escalated' }, 'on-request')).toBeUndefined();
  });
});
