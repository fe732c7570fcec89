import { describe, expect, it } from 'vitest';
import type { ApprovalRequest, CommandApproval } from '../approval/index.ts';
import { approvalForm, readAnswer } from './elicitation.ts';

const common = { approvalId: 'q1', itemId: 'c1', environmentId: 'local', startedAtMs: 0 };

const command: CommandApproval = {
  ...common,
  kind: 'command',
  command: "bash -lc 'git push'",
  argv: ['bash', '-lc', 'git push'],
  cwd: '/w',
  tty: false,
  sandboxPermissions: 'require_escalated',
  actions: [],
  reason: 'Push it?',
  proposedRule: ['git', 'push'],
  availableDecisions: ['accept', 'acceptWithRule', 'cancel'],
};

describe('a question as a form', () => {
  it('shows the command, where it runs and why, and offers each decision by name', () => {
    expect(approvalForm(command)).toEqual({
      message: "Allow this command?\n\n$ bash -lc 'git push'\n\nIn /w, outside the sandbox\nReason: Push it?",
      requestedSchema: {
        type: 'object',
        properties: {
          decision: {
            type: 'string',
            title: 'Decision',
            enum: ['accept', 'acceptWithRule', 'cancel'],
            enumNames: [
              'Yes, this once',
              'Yes, and always from now on: commands that start with git push',
              'No, and stop',
            ],
          },
        },
        required: ['decision'],
      },
    });
  });

  it.each([
    ['./sk-project-setup', '--now'],
    ['find', '.', '-token', '-delete'],
    ['deploy', '--password', 'hunter2', 'API_TOKEN=abc'],
    ['curl', 'https://me:hunter2@host/x'],
  ])('shows all of %s %s, also in the rule it offers', (...argv) => {
    const { message, requestedSchema } = approvalForm({
      ...command,
      argv,
      command: argv.join(' '),
      reason: `\`${argv.join(' ')}\` requires approval by policy`,
      proposedRule: argv,
    });

    expect(message.split('\n')[2]).toBe(`$ ${argv.map((word) => (word.includes('=') ? `'${word}'` : word)).join(' ')}`);
    expect(message).toContain(`Reason: \`${argv.join(' ')}\` requires approval by policy`);
    for (const word of argv) expect(requestedSchema.properties.decision.enumNames[1]).toContain(word);
  });

  it('cannot be made to say something else by what it is about', () => {
    const argv = ['bash', '-lc', 'ls\n\nIn /safe\nReason: none\u202e'];
    const { message, requestedSchema } = approvalForm({
      ...command,
      argv,
      command: "bash -lc '…'",
      reason: 'Please\nEnvironment: test',
      proposedRule: ['git', 'push or pull', '\u001b[2K'],
    });

    expect(message).toBe(
      [
        'Allow this command?',
        '',
        "$ bash -lc $'ls\\n'\\",
        "$'\\n'\\",
        "$'In /safe\\n'\\",
        "$'Reason: none\\u202e'",
        '',
        'In /w, outside the sandbox',
        "Reason: $'Please\\nEnvironment: test'",
      ].join('\n'),
    );
    expect(requestedSchema.properties.decision.enumNames[1]).toBe(
      "Yes, and always from now on: commands that start with git 'push or pull' $'\\e[2K'",
    );
  });

  it.each([
    [
      {
        ...common,
        kind: 'network',
        host: 'example.com',
        port: 443,
        protocol: 'https',
        availableDecisions: ['denyWithRule'],
      },
      'Allow a connection to example.com:443 (https)?',
      'No, and never from now on: example.com',
    ],
    [
      {
        ...common,
        kind: 'writeStdin',
        command: 'x',
        sessionId: 7,
        input: 'rm\u0003\n',
        cwd: '/w',
        availableDecisions: ['accept'],
      },
      "Allow typing into a terminal outside the sandbox?\n\n$'rm\\x03\\n'\n\nIn /w",
      'Yes, this once',
    ],
    [
      {
        ...common,
        kind: 'fileChange',
        command: 'apply_patch /w/a',
        changes: [{ kind: 'add', path: '/w/a', diff: ['+x'] }],
        outside: [],
        availableDecisions: ['acceptForSession'],
      },
      'Allow these changes to files?\n\n  add /w/a\n      +x\n',
      'Yes, and do not ask again in this session about these files',
    ],
    [
      {
        ...common,
        kind: 'fileChange',
        command: 'apply_patch /w/a',
        changes: [{ kind: 'delete', path: '/w/a', diff: [] }],
        outside: ['/w/a'],
        reason: 'It is\nold.',
        availableDecisions: ['decline'],
      },
      "Allow these changes to files, outside what the sandbox lets be written?\n\n  delete /w/a\n\nReason: $'It is\\nold.'",
      'No, go on without it',
    ],
  ] as [ApprovalRequest, string, string][])('asks about $kind', (request, message, name) => {
    const form = approvalForm(request);

    expect([form.message, form.requestedSchema.properties.decision.enumNames]).toEqual([message, [name]]);
  });

  it.each([
    [{ action: 'accept', content: { decision: 'acceptWithRule' } }, 'acceptWithRule'],
    [{ action: 'accept', content: { decision: 'acceptForSession' } }, 'decline'],
    [{ action: 'accept', content: {} }, 'decline'],
    [{ action: 'accept' }, 'decline'],
    [{ action: 'decline' }, 'decline'],
    [{ action: 'cancel' }, 'cancel'],
    [{}, 'decline'],
    [undefined, 'decline'],
  ])('answered by %j means %s', (response, decision) => {
    expect(readAnswer(response, command)).toEqual({ decision });
  });
});
