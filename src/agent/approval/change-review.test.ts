import { describe, expect, it } from 'vitest';
import { loadPolicy } from '../rules/index.ts';
import type { ChangedFile } from './approver.ts';
import { type ChangeRequest, changeQuestion, reviewChanges } from './change-review.ts';
import { parseApprovalPolicy } from './policy.ts';

const change = (path: string, more: Partial<ChangedFile> = {}): ChangedFile => ({
  kind: 'update',
  path,
  diff: [],
  ...more,
});

/** `/w` may be written, and nothing else. */
function request(...changes: ChangedFile[]): ChangeRequest {
  const paths = changes.flatMap(({ path, movedTo = path }) => [path, movedTo]);
  return {
    callId: 'call',
    environmentId: 'box',
    tool: 'apply_patch',
    changes,
    outside: paths.filter((path) => !path.startsWith('/w/')),
    obstacle: 'writing outside of the project',
  };
}

const inside = request(change('/w/a'));
const beyond = request(change('/w/a'), change('/etc/b'));

const review = (what: ChangeRequest, policy: string, rules = '') =>
  reviewChanges(what, parseApprovalPolicy(policy), loadPolicy([{ name: 'a.rules', text: rules }]));

const refused = { kind: 'forbid', reason: 'writing outside of the project; rejected by user approval settings' };

describe('changes to files that no rule knows', () => {
  it.each([
    ['never', inside, { kind: 'skip' }],
    ['never', beyond, refused],
    ['on-request', inside, { kind: 'skip' }],
    ['on-request', beyond, { kind: 'ask', paths: ['/etc/b'] }],
    ['untrusted', inside, { kind: 'ask', paths: ['/w/a'] }],
    ['untrusted', beyond, { kind: 'ask', paths: ['/w/a', '/etc/b'] }],
    ['granular:sandbox_approval', inside, { kind: 'skip' }],
    ['granular:sandbox_approval', beyond, { kind: 'ask', paths: ['/etc/b'] }],
    ['granular:rules', inside, { kind: 'skip' }],
    ['granular:rules', beyond, refused],
  ])('are judged under %s by where they are: %#', (policy, what, expected) => {
    expect(review(what, policy)).toEqual(expected);
  });

  it('are judged at both ends of a move', () => {
    const leaving = request(change('/w/a', { kind: 'move', movedTo: '/etc/a' }));
    const coming = request(change('/etc/a', { kind: 'move', movedTo: '/w/a' }));

    expect([leaving, coming].map((what) => review(what, 'on-request'))).toEqual([
      { kind: 'ask', paths: ['/etc/a'] },
      { kind: 'ask', paths: ['/etc/a'] },
    ]);
  });

  it('are asked about with the reason the call gives', () => {
    expect(review({ ...beyond, justification: 'May I?' }, 'on-request')).toMatchObject({ reason: 'May I?' });
  });
});

describe('rules about changes to files', () => {
  const rule = (words: string[], decision: string, why = '') =>
    `prefix_rule(pattern = ${JSON.stringify(words)}, decision = "${decision}"${why && `, justification = "${why}"`})\n`;

  it('allow a path under every policy, and none beside it', () => {
    const allowed = rule(['apply_patch', '/etc/b'], 'allow');

    expect(review(request(change('/etc/b')), 'never', allowed)).toEqual({ kind: 'skip' });
    expect(review(request(change('/etc/b'), change('/etc/c')), 'never', allowed)).toEqual(refused);
    expect(review(beyond, 'untrusted', allowed)).toEqual({ kind: 'ask', paths: ['/w/a'] });
  });

  it('forbid all changes for the sake of one', () => {
    const text = rule(['apply_patch', '/w/a'], 'forbidden', 'It is generated.');

    expect(review(beyond, 'on-request', text)).toEqual({
      kind: 'forbid',
      reason: '`apply_patch /w/a` rejected: It is generated.',
    });
  });

  it('ask with their own reason where they may', () => {
    const text = rule(['apply_patch'], 'prompt', 'Mind the tests.');

    expect(review({ ...inside, justification: 'May I?' }, 'on-request', text)).toEqual({
      kind: 'ask',
      paths: ['/w/a'],
      reason: '`apply_patch /w/a` requires approval: Mind the tests.',
    });
    expect(review(inside, 'granular:sandbox_approval', text)).toMatchObject({ kind: 'forbid' });
    expect(review(inside, 'never', text)).toMatchObject({ kind: 'forbid' });
  });

  it('hold for the tool they name', () => {
    const text = rule(['write_file'], 'forbidden');

    expect(review(inside, 'on-request', text)).toEqual({ kind: 'skip' });
    expect(review({ ...inside, tool: 'write_file' }, 'on-request', text)).toMatchObject({ kind: 'forbid' });
  });
});

describe('the question about changes to files', () => {
  it('names the files and offers no rule', () => {
    const moved = change('/w/a', { kind: 'move', movedTo: '/etc/a b' });

    expect(changeQuestion(request(moved), 'May I?')).toEqual({
      kind: 'fileChange',
      approvalId: expect.any(String),
      itemId: 'call',
      environmentId: 'box',
      startedAtMs: expect.any(Number),
      reason: 'May I?',
      command: "apply_patch /w/a '/etc/a b'",
      changes: [moved],
      outside: ['/etc/a b'],
      availableDecisions: ['accept', 'acceptForSession', 'decline', 'cancel'],
    });
  });
});
