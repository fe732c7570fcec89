import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Deferred, deferred } from '../../base/index.ts';
import { Policy, type Rules, RulesStore } from '../rules/index.ts';
import { type ApprovalAnswer, type ApprovalDecision, type ApprovalRequest, callbackApprover } from './approver.ts';
import { NetworkApprovals, type NetworkRequest } from './network-approvals.ts';
import { Orchestrator } from './orchestrator.ts';
import type { ApprovalPolicy } from './policy.ts';

const request: NetworkRequest = {
  callId: 'call_1',
  environmentId: 'box',
  host: 'example.com',
  port: 443,
  protocol: 'https_connect',
  argv: ['curl', 'https://example.com'],
  cwd: '/work',
};

interface HostQuestion {
  readonly request: ApprovalRequest;
  readonly signal: AbortSignal | undefined;
  readonly answer: Deferred<ApprovalAnswer>;
}

/** Questions stay open until the test answers them, unless it says how all of them are answered. */
async function arrange(policy: ApprovalPolicy = 'on-request', decision?: ApprovalDecision) {
  const home = await mkdtemp(join(tmpdir(), 'network-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const addTo = join(home, 'default.rules');
  const rules = await RulesStore.open({ addTo });
  const questions: HostQuestion[] = [];
  let arrived = deferred();
  const approver = callbackApprover((asked, signal) => {
    const question = { request: asked, signal, answer: deferred<ApprovalAnswer>() };
    questions.push(question);
    arrived.resolve();
    arrived = deferred();
    return decision ? { decision } : question.answer.promise;
  });
  const orchestrator = new Orchestrator({ policy, approver, rules });
  const decide = (change: Partial<NetworkRequest> = {}, signal?: AbortSignal) =>
    orchestrator.approveNetwork({ ...request, ...change }, signal ? { signal } : {});
  const asked = async (count: number): Promise<void> => {
    while (questions.length < count) await arrived.promise;
  };
  return { decide, asked, questions, addTo, rules };
}

describe('a host that no rule or answer covers', () => {
  it('is asked about with all there is to know', async () => {
    const { decide, questions } = await arrange('on-request', 'accept');

    expect(await decide()).toBe('allow');
    expect(questions.map(({ request }) => request)).toEqual([
      {
        kind: 'network',
        approvalId: expect.any(String),
        itemId: 'call_1',
        environmentId: 'box',
        startedAtMs: expect.any(Number),
        reason: 'Network access to "example.com" is blocked by policy.',
        host: 'example.com',
        port: 443,
        protocol: 'https_connect',
        argv: ['curl', 'https://example.com'],
        command: 'curl https://example.com',
        cwd: '/work',
        availableDecisions: ['accept', 'acceptForSession', 'acceptWithRule', 'denyWithRule', 'decline', 'cancel'],
      },
    ]);
  });

  it.each(Array.from({ length: 12 }, (_, ticks) => ticks))(
    'is asked about again by one who comes %i ticks after the last one lost interest',
    async (ticks) => {
      const known = new Policy([]);
      let wait = 0;
      const rules: Rules = {
        async current() {
          for (let tick = 0; tick < wait; tick++) await undefined;
          return known;
        },
        add: async () => {},
      };
      const questions: Deferred<ApprovalAnswer>[] = [];
      const approver = callbackApprover(() => {
        questions.push(deferred());
        return questions.at(-1)!.promise;
      });
      const approvals = new NetworkApprovals({ policy: 'on-request', approver, rules, onProblem: () => {} });
      const stop = new AbortController();
      const first = approvals.decide(request, stop.signal);
      while (questions.length === 0) await undefined;
      wait = ticks;
      const second = approvals.decide(request);
      stop.abort();

      expect(await first).toBe('deny');
      for (let tick = 0; tick < 24; tick++) await undefined;
      for (const question of questions) question.resolve({ decision: 'accept' });
      expect(await second).toBe('allow');
    },
  );

  it('is one question for all who want the same at once, and one each for others', async () => {
    const { decide, asked, questions } = await arrange();
    const same = [decide(), decide({ callId: 'call_2' }), decide({ host: 'EXAMPLE.com.' })];
    const others = [decide({ port: 80 }), decide({ protocol: 'socks5_tcp' }), decide({ environmentId: 'other' })];
    await asked(4);
    for (const { answer, request } of questions) {
      answer.resolve({ decision: request.itemId === 'call_1' ? 'accept' : 'decline' });
    }

    expect(await Promise.all(same)).toEqual(['allow', 'allow', 'allow']);
    expect(await Promise.all(others)).toEqual(['allow', 'allow', 'allow']);
    expect(questions).toHaveLength(4);
  });

  it.each<[ApprovalDecision, 'allow' | 'deny', number]>([
    ['accept', 'allow', 2],
    ['acceptForSession', 'allow', 1],
    ['acceptWithRule', 'allow', 1],
    ['denyWithRule', 'deny', 1],
    ['decline', 'deny', 2],
    ['cancel', 'deny', 2],
  ])('answered with %s: %s, and for the second time %i questions', async (decision, verdict, count) => {
    const { decide, questions } = await arrange('untrusted', decision);

    expect([await decide(), await decide()]).toEqual([verdict, verdict]);
    expect(questions).toHaveLength(count);
  });

  it('is written down as a rule, which counts for every port and protocol of it', async () => {
    const allowed = await arrange('on-request', 'acceptWithRule');
    const denied = await arrange('on-request', 'denyWithRule');
    await allowed.decide();
    await denied.decide({ protocol: 'http', port: 80 });

    expect(await readFile(allowed.addTo, 'utf8')).toBe(
      'network_rule(host="example.com", protocol="https", decision="allow")\n',
    );
    expect(await readFile(denied.addTo, 'utf8')).toBe(
      'network_rule(host="example.com", protocol="http", decision="deny")\n',
    );
    expect(await allowed.decide({ port: 8080 })).toBe('allow');
    expect(await denied.decide({ port: 8080 })).toBe('deny');
  });

  it('is denied without a question where none may be asked, unless a rule allows it', async () => {
    const { decide, questions, rules } = await arrange('never');
    const before = await decide();
    await rules.add({ kind: 'network', host: 'example.com', protocol: 'https', decision: 'allow' });

    expect([before, await decide()]).toEqual(['deny', 'allow']);
    expect(questions).toEqual([]);
  });

  it('is denied to a waiter that gives up, while the others go on waiting', async () => {
    const { decide, questions, rules } = await arrange();
    const stop = new AbortController();
    const leaving = decide({}, stop.signal);
    const staying = decide();
    await rules.current(); // answered in turn, so both have looked at the rules and wait for the same question
    stop.abort();
    expect(await leaving).toBe('deny');
    questions[0]!.answer.resolve({ decision: 'accept' });

    expect(await staying).toBe('allow');
    expect(questions[0]!.signal?.aborted).toBe(false);
  });

  it('is withdrawn when the last one goes away, and asked about again for the next', async () => {
    const { decide, asked, questions } = await arrange();
    const stop = new AbortController();
    const leaving = decide({}, stop.signal);
    await asked(1);
    stop.abort();
    expect(await leaving).toBe('deny');
    expect(questions[0]!.signal?.aborted).toBe(true);
    const next = decide();
    await asked(2);
    questions[1]!.answer.resolve({ decision: 'accept' });

    expect(await next).toBe('allow');
  });

  it('is denied when too many questions are open', async () => {
    const { decide, asked, questions } = await arrange();
    const open = Array.from({ length: 64 }, (_, port) => decide({ port }));
    await asked(64);

    expect(await decide({ port: 64 })).toBe('deny');
    for (const { answer } of questions) answer.resolve({ decision: 'accept' });
    expect(new Set(await Promise.all(open))).toEqual(new Set(['allow']));
  });

  it('is denied when the approver fails', async () => {
    const rules = await RulesStore.open({});
    const problems: Error[] = [];
    const approver = callbackApprover(() => Promise.reject(new Error('the line is dead')));
    const onProblem = (error: Error) => problems.push(error);
    const orchestrator = new Orchestrator({ policy: 'untrusted', approver, rules, onProblem });

    expect(await orchestrator.approveNetwork(request)).toBe('deny');
    expect(problems).toEqual([new Error('the line is dead')]);
  });
});
