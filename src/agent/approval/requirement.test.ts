import { describe, expect, it } from 'vitest';
import { escalated, readOnly, scriptRequest } from '../../../test/support/script-request.ts';
import { loadPolicy } from '../rules/index.ts';
import type { CommandRequest, Confinement, SandboxPermissions } from './command-request.ts';
import type { ApprovalPolicy } from './policy.ts';
import { requirementFor } from './requirement.ts';

const free: Confinement = { ...readOnly, restrictsFiles: false };

const granular = (sandbox_approval: boolean, rules: boolean): ApprovalPolicy => ({
  granular: { sandbox_approval, rules, skill_approval: true, request_permissions: true, mcp_elicitations: true },
});

const rules = loadPolicy([
  {
    name: 'test.rules',
    text: `
prefix_rule(pattern=["mkdir"], decision="prompt", justification="why a directory")
prefix_rule(pattern=["mkfifo"], decision="prompt")
prefix_rule(pattern=["dd"], decision="forbidden", justification="no dd")
prefix_rule(pattern=["dd", "x"], decision="forbidden")
prefix_rule(pattern=["shred"], decision="forbidden")
prefix_rule(pattern=["touch"], decision="allow")
`,
  },
]);

type Call = Partial<CommandRequest>;

const judge = (policy: ApprovalPolicy, script: string, call: Call = {}) =>
  requirementFor(scriptRequest(script, call), policy, rules);

describe('the requirement for a command', () => {
  const policies = {
    never: 'never',
    'on-request': 'on-request',
    untrusted: 'untrusted',
    'granular, all questions': granular(true, true),
    'granular, no rules': granular(true, false),
    'granular, no sandbox': granular(false, true),
    'granular, none': granular(false, false),
  } satisfies Record<string, ApprovalPolicy>;
  const places: readonly Confinement[] = [true, false].flatMap((restrictsFiles) =>
    [true, false].flatMap((hasDeniedReads) =>
      [true, false].flatMap((managedNetwork) =>
        [true, false].map((ownNetworkPolicy) => ({ restrictsFiles, hasDeniedReads, managedNetwork, ownNetworkPolicy })),
      ),
    ),
  );
  const wishes: readonly SandboxPermissions[] = ['use_default', 'require_escalated', 'with_additional_permissions'];
  const parts = ['touch t', 'mkdir d', 'dd a', 'uname', 'rm -rf z'];
  const scripts = parts.flatMap((first) => [first, ...parts.map((second) => `${first} && ${second}`)]);

  /** The table as it would be explained to a person: one sentence after the other, the first that applies counts. */
  function expected(policy: ApprovalPolicy, script: string, place: Confinement, wish: SandboxPermissions): string {
    const asksSandbox = policy !== 'never' && (typeof policy === 'string' || policy.granular.sandbox_approval);
    const asksRules = policy !== 'never' && (typeof policy === 'string' || policy.granular.rules);
    const does = (part: string): boolean => script.includes(part);
    const isConfined = place.restrictsFiles || place.hasDeniedReads || place.managedNetwork;
    if (wish !== 'use_default' && !asksSandbox) return 'forbid: escalation';
    if (wish === 'require_escalated' && place.ownNetworkPolicy) return 'forbid: escalation';
    if (does('dd a')) return 'forbid: policy';
    if (does('rm -rf z') && policy === 'never') return 'forbid: policy';
    if (does('mkdir d')) return asksRules ? 'ask' : 'forbid: policy';
    if (does('rm -rf z')) return asksSandbox ? 'ask' : 'forbid: policy';
    if (does('uname') && policy === 'untrusted') return 'ask';
    if (does('uname') && wish !== 'use_default' && isConfined) return 'ask';
    return does('uname') ? 'skip' : 'skip without sandbox';
  }

  it.each(Object.entries(policies))('follows the table under %s', (_, policy) => {
    for (const script of scripts) {
      for (const confinement of places) {
        for (const sandboxPermissions of wishes) {
          const requirement = judge(policy, script, { confinement, sandboxPermissions });
          const shown =
            requirement.kind === 'forbid'
              ? `forbid: ${requirement.cause}`
              : requirement.kind === 'skip' && requirement.bypassesSandbox
                ? 'skip without sandbox'
                : requirement.kind;
          const place = JSON.stringify(confinement);
          expect(`${script} ${sandboxPermissions} ${place} ${shown}`).toBe(
            `${script} ${sandboxPermissions} ${place} ${expected(policy, script, confinement, sandboxPermissions)}`,
          );
        }
      }
    }
  });
});

describe('a refusal reads as models know it', () => {
  const escalation = (name: string): string =>
    `approval policy is ${name}; reject command — you cannot ask for escalated permissions if the approval policy is ${name}`;
  const none =
    'GranularApprovalConfig { sandbox_approval: false, rules: false, skill_approval: true, request_permissions: true, mcp_elicitations: true }';
  const removal = 'rm -f style commands are not permitted. Use a safer approach';
  const noQuestions = 'approval required by policy, but AskForApproval is set to Never';
  const noRules = 'approval required by policy rule, but AskForApproval::Granular.rules is false';

  // Each of these is what Codex 0.166.0 answers to the same call under the same rules.
  it.each<[ApprovalPolicy, string, Call, string]>([
    ['never', 'rm -rf zz', {}, `\`/bin/bash -c 'rm -rf zz'\` rejected: ${removal}`],
    ['never', 'sudo env A=1 rm --force q', {}, `\`/bin/bash -c 'sudo env A=1 rm --force q'\` rejected: ${removal}`],
    ['never', 'mkdir d', {}, noQuestions],
    ['never', 'mkfifo d', {}, noQuestions],
    ['never', 'dd a', {}, "`/bin/bash -c 'dd a'` rejected: no dd"],
    ['never', 'dd x', {}, "`/bin/bash -c 'dd x'` rejected: policy forbids commands starting with `dd x`"],
    ['never', 'shred b', {}, "`/bin/bash -c 'shred b'` rejected: policy forbids commands starting with `shred`"],
    [
      'never',
      'shred b | dd x',
      {},
      "`/bin/bash -c 'shred b | dd x'` rejected: policy forbids commands starting with `dd x`",
    ],
    ['never', 'touch t', escalated, escalation('Never')],
    ['never', 'uname', { ...escalated, confinement: free }, escalation('Never')],
    [granular(false, false), 'rm -rf zz', {}, removal],
    [granular(false, false), 'mkdir d', {}, noRules],
    [granular(false, false), 'mkdir d && rm -rf z', {}, noRules],
    [granular(false, false), 'uname', escalated, escalation(`Granular(${none})`)],
    [granular(false, false), 'touch t', escalated, escalation(`Granular(${none})`)],
  ])('under %j: %s', (policy, script, call, reason) => {
    expect(judge(policy, script, call)).toMatchObject({ kind: 'forbid', reason });
  });
});

describe('a question', () => {
  // Each of these is what Codex 0.166.0 asks for the same call under the same rules.
  it.each<[ApprovalPolicy, string, Call, object]>([
    ['untrusted', 'ls', {}, { proposedRule: ['ls'] }],
    ['untrusted', 'printf x > y', {}, { proposedRule: ['/bin/bash', '-c', 'printf x > y'] }],
    ['untrusted', 'uname -a', escalated, { reason: 'may I', proposedRule: ['uname', '-a'] }],
    ['untrusted', 'touch t && ls', {}, { proposedRule: ['ls'] }],
    ['untrusted', 'mkdir d', {}, { reason: "`/bin/bash -c 'mkdir d'` requires approval: why a directory" }],
    [
      'on-request',
      'rm -rf z && mkfifo d',
      {},
      { reason: "`/bin/bash -c 'rm -rf z && mkfifo d'` requires approval by policy" },
    ],
    ['on-request', 'mkfifo d', {}, { reason: "`/bin/bash -c 'mkfifo d'` requires approval by policy" }],
    ['on-request', 'rm -rf zz', {}, { proposedRule: ['rm', '-rf', 'zz'] }],
    ['on-request', 'uname -a', { ...escalated, prefixRule: ['uname'] }, { reason: 'may I', proposedRule: ['uname'] }],
    ['on-request', 'id -u && id -g', { ...escalated, prefixRule: ['id'] }, { reason: 'may I', proposedRule: ['id'] }],
    ['on-request', '/usr/bin/id -u', { ...escalated, prefixRule: ['id'] }, { reason: 'may I', proposedRule: ['id'] }],
    [
      'on-request',
      'rm -rf zz',
      { ...escalated, prefixRule: ['rm', '-rf'] },
      { reason: 'may I', proposedRule: ['rm', '-rf'] },
    ],
    ['on-request', 'id -u && uname', escalated, { reason: 'may I', proposedRule: ['id', '-u'] }],
    ['on-request', 'touch t && id', escalated, { reason: 'may I', proposedRule: ['id'] }],
    [
      'on-request',
      'mkdir d',
      { ...escalated, prefixRule: ['mkdir', 'd'] },
      { reason: "`/bin/bash -c 'mkdir d'` requires approval: why a directory" },
    ],
    [
      'on-request',
      'cat <<EOF\nx\nEOF',
      { ...escalated, prefixRule: ['cat'] },
      { reason: 'may I', proposedRule: ['/bin/bash', '-c', 'cat <<EOF\nx\nEOF'] },
    ],
  ])('under %s about %s', (policy, script, call, question) => {
    expect(judge(policy, script, call)).toEqual({ kind: 'ask', ...question });
  });

  it.each([
    ['python3 -c 1', ['python3']],
    ['python3 -c 1', ['python3', '-c']],
    ['/usr/bin/python3 -c 1', ['/usr/bin/python3', '-c']],
    ['rm -rf zz', ['rm']],
    ['git log -n 1', ['git']],
    ['npm run build', ['npm', 'run']],
    ['sudo -n true', ['sudo']],
    ['timeout 5 make', ['timeout']],
    ['id -u', ['ls']],
    ['id -u && uname', ['id']],
    ['id -u', []],
    ['id -u', ['id', '-u', '-n']],
  ])('about %s does not offer the rule %j, but the command', (script, prefixRule) => {
    const first = script.split(' && ')[0]!.split(' ');
    expect(judge('on-request', script, { ...escalated, prefixRule })).toMatchObject({ proposedRule: first });
  });

  it('offers no rule at all when the command itself would be too broad a one', () => {
    expect(judge('on-request', 'python3', escalated)).toEqual({ kind: 'ask', reason: 'may I' });
    expect(judge('untrusted', 'env', {})).toEqual({ kind: 'ask' });
  });

  it('about a retry offers the command, unless a rule knows part of it', () => {
    expect(judge(granular(true, true), 'printf x')).toMatchObject({ kind: 'skip', proposedRule: ['printf', 'x'] });
    expect(judge(granular(true, true), 'touch t && printf x')).not.toHaveProperty('proposedRule');
  });

  it.each(['./touch t', '/w/touch t', '/tmp/touch t', '/usr/bin/../../tmp/touch t'])(
    'takes no rule for a name as a grant to what lies just anywhere: %s',
    (script) => {
      expect(judge('on-request', script)).toMatchObject({ kind: 'skip', bypassesSandbox: false });
      expect(judge('untrusted', script)).toMatchObject({ kind: 'ask', proposedRule: script.split(' ') });
    },
  );

  it('takes a rule for a name as a prohibition of what has the name, wherever it lies', () => {
    expect(judge('on-request', './dd a')).toMatchObject({ kind: 'forbid' });
  });

  it('judges a command that is no shell script as it is', () => {
    const judged = (...argv: string[]) => judge('untrusted', '', { argv });
    expect(judged('/usr/bin/touch', 't')).toMatchObject({ kind: 'skip', bypassesSandbox: true });
    expect(judged('cp', 'a')).toMatchObject({
      kind: 'ask',
      proposedRule: ['cp', 'a'],
    });
  });
});
