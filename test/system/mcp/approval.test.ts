import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startServer } from '../../support/server.ts';
import { eras, type Form, McpFixture } from './fixture.ts';

const choose = (decision: string) => () => ({ action: 'accept', content: { decision } }) as const;

describe.each(eras)('approval by an MCP client of %s', (era) => {
  const escalated = { sandbox_permissions: 'require_escalated', justification: 'May I make a file outside?' };

  it('is asked for with the command, the reason and the choices, and a yes lets it run', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era, answer: choose('accept') });
    const path = join(fixture.outside, 'made');

    const answer = await user.exec(`echo yes > ${path}`, escalated);

    expect(answer.structured).toMatchObject({ exit_code: 0 });
    expect(readFileSync(path, 'utf8')).toBe('yes\n');
    const [form, ...others] = user.questions as [Form, ...Form[]];
    expect(others).toEqual([]);
    expect(form.message).toContain(`echo yes > ${path}`);
    expect(form.message).toContain(`In ${fixture.work}, outside the sandbox`);
    expect(form.message).toContain('Reason: May I make a file outside?');
    const { decision } = form.requestedSchema.properties;
    expect(decision.enum).toContain('accept');
    expect(decision.enumNames).toHaveLength(decision.enum.length);
  });

  it.each([
    ['declines', { action: 'decline' }],
    ['chooses what was not offered', { action: 'accept', content: { decision: 'acceptEverything' } }],
  ] as const)('refuses the command when the user %s', async (_, reply) => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era, answer: () => reply });
    const path = join(fixture.outside, 'made');

    const answer = await user.exec(`echo no > ${path}`, escalated);

    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining('rejected by user') });
    expect(existsSync(path)).toBe(false);
  });

  it('refuses the command when the user cancels, and goes on with the next one', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era, answer: () => ({ action: 'cancel' }) });
    const path = join(fixture.outside, 'made');

    const answer = await user.exec(`echo no > ${path}`, escalated);

    expect(answer.isError).toBe(true);
    expect(existsSync(path)).toBe(false);
    expect((await user.exec('echo next')).structured).toMatchObject({ output: 'next\n' });
  });

  it('is refused with the reason to a client that cannot ask', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era });
    const path = join(fixture.outside, 'made');

    const answer = await user.exec(`echo no > ${path}`, escalated);

    expect(answer).toMatchObject({
      isError: true,
      text: expect.stringContaining('this MCP client cannot ask its user: it does not support elicitation'),
    });
    expect(existsSync(path)).toBe(false);
  });

  it('makes a rule that counts at once and stays', async () => {
    await using fixture = new McpFixture();
    const rules = join(fixture.home, 'rules', 'default.rules');
    const path = join(fixture.outside, 'made');
    const command = `touch ${path}`;
    await using user = await fixture.open([], { era, answer: choose('acceptWithRule') });

    await user.exec(command, escalated);
    await user.exec(command, escalated);

    expect(user.questions).toHaveLength(1);
    expect(user.questions[0]?.requestedSchema.properties.decision.enumNames).toContain(
      `Yes, and always from now on: commands that start with ${command}`,
    );
    expect(readFileSync(rules, 'utf8')).toContain(path);
  });

  it('is asked for after the sandbox has denied a write, and the second attempt succeeds', async () => {
    await using fixture = new McpFixture();
    const path = join(fixture.outside, 'made');
    const granular = 'granular:sandbox_approval,rules,mcp_elicitations';
    await using user = await fixture.open(['--approval', granular], { era, answer: choose('accept') });

    // A command that took a moment is repeated only if its output shows nothing but the denial.
    const command = await user.exec(`echo command > ${path} && cat ${path}`);

    expect(command.structured).toMatchObject({ exit_code: 0, output: 'command\n' });
    expect(user.questions.map(({ message }) => message)).toEqual([
      expect.stringContaining('Reason: command failed; retry without sandbox?'),
    ]);
  });

  it.each([
    ['agreed to, a command denied on a server runs once more', 'granular:sandbox_approval,rules', 'accept', 2, 0],
    ['declined, a command denied on a server runs no more', 'granular:sandbox_approval,rules', 'decline', 1, undefined],
    ['never asked for, a command denied on a server keeps its output', 'never', 'accept', 1, 1],
  ])('%s', async (_, policy, decision, attempts, exitCode) => {
    await using fixture = new McpFixture();
    await using server = await startServer({ cwd: fixture.work });
    const args = ['--connect', server.url, '--approval', policy];
    await using user = await fixture.open(args, { era, answer: choose(decision) });
    const path = join(fixture.outside, 'made');

    const { structured } = await user.exec(`echo attempt >> attempts; echo made > ${path}`);

    expect(structured?.exit_code).toBe(exitCode);
    expect(readFileSync(join(fixture.work, 'attempts'), 'utf8')).toBe('attempt\n'.repeat(attempts));
    expect(existsSync(path)).toBe(attempts === 2);
    expect(user.questions).toHaveLength(policy === 'never' ? 0 : 1);
  });

  it('is asked for before every change under the policy untrusted, and not for looking', async () => {
    await using fixture = new McpFixture();
    writeFileSync(join(fixture.work, 'a.txt'), 'a\n');
    await using user = await fixture.open(['--approval', 'untrusted'], { era, answer: () => ({ action: 'decline' }) });

    const looked = await user.call('read_file', { path: 'a.txt' });
    const changed = await user.call('write_file', { path: 'a.txt', content: 'b\n' });

    expect(looked.text).toBe('a\n');
    expect(changed).toMatchObject({ isError: true, text: `cannot write ${fixture.work}/a.txt: rejected by user` });
    expect(readFileSync(join(fixture.work, 'a.txt'), 'utf8')).toBe('a\n');
  });

  it('is never asked for under the policy never', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open(['--approval', 'never'], { era, answer: choose('accept') });

    const command = await user.exec('true', escalated);
    const file = await user.call('read_file', { path: '/proc/self/environ' });

    expect(command).toMatchObject({ isError: true, text: expect.stringContaining('approval policy is Never') });
    expect(file).toMatchObject({ isError: true, text: expect.stringContaining('The user cannot be asked for more') });
    expect(user.questions).toEqual([]);
  });
});

describe('an answer to a question', () => {
  it('counts only for the question that it answers', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era: '2026-07-28', answer: choose('accept') });
    const path = join(fixture.outside, 'made');
    const params = {
      name: 'exec_command',
      arguments: { cmd: `touch ${path}`, login: false, sandbox_permissions: 'require_escalated' },
    };
    const inputResponses = { approval: choose('accept')() };
    const call = (requestState?: string) => {
      const answer = requestState === undefined ? {} : { requestState, inputResponses };
      return user.client.request(
        { method: 'tools/call', params: { ...params, ...answer } },
        { allowInputRequired: true },
      ) as Promise<{ requestState?: string; resultType?: string }>;
    };

    const { requestState = '' } = await call();
    const [callId] = requestState.split(' ');
    const again = await call(`${callId} another-question`);

    expect(again).toMatchObject({ resultType: 'input_required', requestState });
    expect(existsSync(path)).toBe(false);
    await expect(call('no-such-call q')).rejects.toThrow('the call that asked has ended; call the tool again');
    await call(requestState);
    expect(existsSync(path)).toBe(true);
    await expect(call(requestState)).rejects.toThrow('the call that asked has ended; call the tool again');
  });
});

describe('rules for MCP clients', () => {
  it('are read from the files named', async () => {
    await using fixture = new McpFixture();
    const rules = join(fixture.home, 'mine.rules');
    writeFileSync(rules, 'prefix_rule(pattern = ["touch"], decision = "forbidden")\n');
    await using user = await fixture.open(['--rules', rules]);

    const answer = await user.exec('touch a');

    expect(answer.isError).toBe(true);
    expect(existsSync(join(fixture.work, 'a'))).toBe(false);
  });
});
