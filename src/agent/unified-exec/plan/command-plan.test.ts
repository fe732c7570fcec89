import { describe, expect, it } from 'vitest';
import { type ApprovalPolicy, denyAll, Orchestrator } from '../../approval/index.ts';
import { RulesStore } from '../../rules/index.ts';
import type { ExecBackend } from '../backends/exec-backend.ts';
import { planCommand } from './command-plan.ts';
import { Environments } from './environments.ts';

const backend = {
  isLocal: false,
  info: async () => ({ platformOs: 'linux', shell: { name: 'bash', path: '/bin/bash' } }),
} as unknown as ExecBackend;

async function complaint(
  args: object,
  policy?: ApprovalPolicy,
  additionalPermissions = false,
): Promise<string | undefined> {
  const orchestrator = policy && new Orchestrator({ policy, approver: denyAll, rules: await RulesStore.open({}) });
  const plan = planCommand(
    { cmd: 'true', ...args },
    {
      environments: new Environments({ box: backend }),
      settings: {},
      allowLoginShell: true,
      additionalPermissions,
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
  ])('is refused for the policy before %j is looked at', async (args) => {
    expect(await Promise.all([complaint(args, 'never'), complaint(args)])).toEqual([never, never]);
  });

  it('hears that there are no additional permissions, also if it wants to leave the sandbox', async () => {
    const args = { sandbox_permissions: 'require_escalated', additional_permissions: network };

    expect(await complaint(args, 'on-request')).toMatch(/^additional permissions are disabled; /);
    expect(await complaint({ sandbox_permissions: 'require_escalated' }, 'on-request')).toBeUndefined();
  });

  it('can ask for more within the sandbox under one policy only, and for one thing at a time', async () => {
    const within = { sandbox_permissions: 'with_additional_permissions', additional_permissions: network };
    const both = { sandbox_permissions: 'require_escalated', additional_permissions: network };
    const off = { ...within, additional_permissions: { network: { enabled: false } } };

    expect(await complaint(within, 'untrusted', true)).toBe(
      'approval policy is UnlessTrusted; reject command — you cannot request additional permissions unless the approval policy is OnRequest',
    );
    expect(await complaint(both, 'untrusted', true)).toBe(
      '`additional_permissions` requires `sandbox_permissions` set to `with_additional_permissions`',
    );
    expect(await Promise.all([within, off].map((args) => complaint(args, 'on-request', true)))).toEqual([
      undefined,
      undefined,
    ]);
  });
});
