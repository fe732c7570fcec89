import { describe, expect, it } from 'vitest';
import { readOnly } from '../../../test/support/script-request.ts';
import { RulesStore } from '../rules/index.ts';
import { type ApprovalDecision, type ApprovalRequest, callbackApprover } from './approver.ts';
import type { InputRequest } from './input-review.ts';
import { Orchestrator } from './orchestrator.ts';
import { type ApprovalPolicy, parseApprovalPolicy } from './policy.ts';
import { Cancelled } from './rejection.ts';

const request: InputRequest = {
  callId: 'call_2',
  itemId: 'call_1',
  environmentId: 'box',
  sessionId: 38728,
  cwd: '/work',
  tty: true,
  input: 'hello\n',
  sandboxed: false,
  confinement: readOnly,
};

const lines = (length: number): string => `${'x'.repeat(99)}\n`.repeat(length / 100);
const longPath = `/${'d'.repeat(69)}`;

async function type(
  change: Partial<InputRequest>,
  policy: ApprovalPolicy = 'on-request',
  decision: ApprovalDecision = 'accept',
): Promise<ApprovalRequest[]> {
  const questions: ApprovalRequest[] = [];
  const approver = callbackApprover((question) => {
    questions.push(question);
    return { decision };
  });
  const orchestrator = new Orchestrator({ policy, approver, rules: await RulesStore.open({}) });
  await orchestrator.approveInput({ ...request, ...change });
  return questions;
}

describe('text for a terminal outside the sandbox', () => {
  it('is asked about in the words of Codex, every time', async () => {
    expect(await type({})).toEqual([
      {
        kind: 'writeStdin',
        approvalId: 'call_2',
        itemId: 'call_1',
        environmentId: 'box',
        startedAtMs: expect.any(Number),
        reason:
          'Send input to an existing terminal. This terminal was launched outside the sandbox, bypassing any managed network proxy. ' +
          "The cwd is its launch directory; the terminal's current directory and state may have changed.",
        command: "write_stdin --session-id 38728 'hello\n'",
        sessionId: 38728,
        input: 'hello\n',
        cwd: '/work',
        availableDecisions: ['accept', 'cancel'],
      },
    ]);
  });

  it.each<[string, Partial<InputRequest>]>([
    ['nothing is typed', { input: '' }],
    ['an interrupt goes to a command without terminal', { tty: false, input: '\x03' }],
    ['the command is in a sandbox', { sandboxed: true }],
    ['there is nothing to confine it to', { confinement: { ...readOnly, restrictsFiles: false } }],
  ])('needs no question when %s, not even under never', async (_, change) => {
    expect(await type(change, 'never')).toEqual([]);
  });

  it('is asked about when it is an interrupt typed at a terminal, too', async () => {
    expect(await type({ input: '\x03' })).toMatchObject([{ command: "write_stdin --session-id 38728 '\x03'" }]);
  });

  it('is asked about up to the size that Codex asks about', async () => {
    expect(await type({ input: lines(7_400), cwd: longPath })).toHaveLength(1);
  });

  it.each<[Partial<InputRequest>, ApprovalPolicy, string]>([
    [{}, 'never', 'approval required by policy, but AskForApproval is set to Never'],
    [
      {},
      parseApprovalPolicy('granular:rules'),
      'approval required by policy, but AskForApproval::Granular.sandbox_approval is false',
    ],
    [{ input: 'a\0b' }, 'on-request', 'terminal input contains a NUL byte and cannot be reviewed safely'],
    [
      { input: lines(7_500), cwd: longPath },
      'on-request',
      'terminal input and permission details are too large to review safely; use a smaller input or start a new terminal with fewer grants',
    ],
    [
      { confinement: { ...readOnly, hasDeniedReads: true } },
      'on-request',
      'this terminal cannot enforce the current denied-read restrictions; start a new terminal',
    ],
  ])('is refused for what cannot be asked about', async (change, policy, message) => {
    await expect(type(change, policy)).rejects.toThrow(message);
  });

  it('is not typed when the user declines or cancels', async () => {
    await expect(type({}, 'on-request', 'decline')).rejects.toThrow('rejected by user');
    await expect(type({}, 'on-request', 'cancel')).rejects.toBeInstanceOf(Cancelled);
  });
});
