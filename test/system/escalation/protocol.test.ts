import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EscalationFixture } from './fixture.ts';

const open = () => EscalationFixture.open({ intercept: 'all', rules: 'prefix_rule(pattern = ["mkdir"])' });

const WRITES = 'echo > made; echo $(($? == 0))';

describe('the server of the shell tool', () => {
  it('introduces itself', async () => {
    await using fixture = await open();

    expect(await fixture.peer.initialize('2025-03-26')).toEqual({
      protocolVersion: '2025-03-26',
      serverInfo: { name: 'exec-mcp-server', version: expect.any(String) },
      instructions: expect.stringMatching(/^[^.]*shell commands[^.]*\.$/),
      capabilities: {
        tools: {},
        experimental: { 'codex/sandbox-state': { version: '1.0.0' }, 'codex/sandbox-state-meta': {} },
      },
    });
    expect(await fixture.peer.request('ping')).toEqual({});
    expect(await fixture.peer.request('resources/list')).toEqual({ resources: [] });
    expect(await fixture.peer.request('prompts/list')).toEqual({ prompts: [] });
    await expect(fixture.peer.request('no/such')).rejects.toMatchObject({ code: -32_601 });
  });

  it('has one tool', async () => {
    await using fixture = await open();

    const { tools } = (await fixture.peer.request('tools/list')) as { tools: Record<string, unknown>[] };

    expect(tools.map(({ name }) => name)).toEqual(['shell']);
    expect(tools[0]!.inputSchema).toMatchObject({
      title: 'ExecParams',
      type: 'object',
      properties: {
        command: { type: 'string' },
        workdir: { type: 'string' },
        timeout_ms: { type: 'integer', format: 'uint64', minimum: 0, nullable: true },
        login: { type: 'boolean', nullable: true },
      },
      required: ['command', 'workdir'],
    });
  });

  it.each([
    [{ workdir: '/' }, 'missing field `command`'],
    [{ command: 'true' }, 'missing field `workdir`'],
    [{ command: 5, workdir: '/' }, '`command`: invalid 5, expected a string'],
    [{ command: 'true', workdir: 'here' }, '`workdir` must be an absolute path, which "here" is not'],
    [{ command: 'true', workdir: '/', timeout_ms: -1 }, '`timeout_ms`: invalid -1, expected u64'],
    [{ command: 'true', workdir: '/', login: 'no' }, '`login`: invalid "no", expected a boolean'],
    [{ command: 'a\0b', workdir: '/' }, '`command` and `workdir` must not contain NUL'],
  ])('refuses the arguments %j', async (args, text) => {
    await using fixture = await open();

    await expect(fixture.peer.request('tools/call', { name: 'shell', arguments: args })).rejects.toMatchObject({
      code: -32_602,
      message: `failed to deserialize parameters: ${text}`,
    });
  });

  it('takes null for what may be left out', async () => {
    await using fixture = await open();

    expect(await fixture.run('echo hi', { timeout_ms: null, login: null })).toMatchObject({ exit_code: 0 });
  });

  it('knows no other tool', async () => {
    await using fixture = await open();

    await expect(fixture.peer.request('tools/call', { name: 'other', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: 'tool not found',
    });
  });

  it('answers lines that are no messages, and goes on', async () => {
    await using fixture = await open();

    fixture.peer.line('not json');
    fixture.peer.line('{"neither": "request nor answer"}');
    fixture.peer.line('');

    expect(await fixture.peer.request('ping')).toEqual({});
    expect(fixture.peer.complaints.map(({ error }) => error?.code)).toEqual([-32_700, -32_600]);
  });
});

describe('what a client says of the sandbox', () => {
  it('is that nothing may be written, as long as it says nothing', async () => {
    await using fixture = await open();

    expect((await fixture.run(WRITES)).stdout).toBe('0\n');
  });

  it('holds for later calls when it comes as a request', async () => {
    await using fixture = await open();
    const update = (sandboxPolicy: unknown) =>
      fixture.peer.request('codex/sandbox-state/update', {
        sandboxPolicy,
        codexLinuxSandboxExe: null,
        sandboxCwd: fixture.work,
        useLinuxSandboxBwrap: true,
      });

    const states: [unknown, string][] = [
      [{ type: 'workspace-write', writable_roots: [fixture.outside], network_access: true }, '1\n'],
      [{ type: 'read-only' }, '0\n'],
      [{ type: 'danger-full-access' }, '1\n'],
      [{ type: 'external-sandbox', network_access: 'enabled' }, '0\n'],
    ];
    for (const [policy, expected] of states) {
      expect(await update(policy)).toEqual({});
      expect((await fixture.run(WRITES)).stdout).toBe(expected);
    }
  });

  it('holds for later calls when it comes as a notification, if it gives no more than before', async () => {
    await using fixture = await open();
    await fixture.allowWork({ type: 'workspace-write', writable_roots: [fixture.outside], exclude_slash_tmp: true });
    const notify = (sandboxPolicy: unknown, sandboxCwd = fixture.work) =>
      fixture.peer.send({ method: 'codex/sandbox-state/update', params: { sandboxPolicy, sandboxCwd } });
    const writes = async () =>
      (await fixture.run(`for d in work outside; do : > ../$d/made && echo $d; done 2>/dev/null; true`)).stdout
        .split('\n')
        .slice(0, -1);

    expect(await writes()).toEqual(['work', 'outside']);
    notify({ type: 'danger-full-access' });
    notify({ type: 'workspace-write', network_access: true, exclude_slash_tmp: true });
    notify({ type: 'workspace-write', writable_roots: ['/opt'], exclude_slash_tmp: true });
    notify({ type: 'nonsense' });
    expect(await writes()).toEqual(['work', 'outside']);
    notify({ type: 'workspace-write', exclude_slash_tmp: true, exclude_tmpdir_env_var: true });
    expect(await writes()).toEqual(['work']);
    notify({ type: 'read-only' });
    expect(await writes()).toEqual([]);
    notify({ type: 'workspace-write', exclude_slash_tmp: true, exclude_tmpdir_env_var: true });
    expect(await writes()).toEqual([]);
    expect(fixture.warnings.map(([event]) => event)).toEqual(Array(5).fill('sandbox_state.not_obeyed'));
  });

  it('includes further places and the network', async () => {
    await using fixture = await open();
    await fixture.allowWork({ type: 'workspace-write', writable_roots: [fixture.outside], network_access: true });

    expect((await fixture.run(`echo > ${fixture.outside}/made; echo "<$CODEX_SANDBOX_NETWORK_DISABLED>"`)).stdout).toBe(
      '<>\n',
    );
    expect(existsSync(join(fixture.outside, 'made'))).toBe(true);
  });

  it.each([
    ['nothing', undefined, 'missing params for sandbox state request'],
    ['another word', { sandboxPolicy: { type: 'none' }, sandboxCwd: '/' }, 'failed to deserialize sandbox state'],
    ['no directory', { sandboxPolicy: { type: 'read-only' } }, 'failed to deserialize sandbox state'],
    [
      'a relative root',
      { sandboxPolicy: { type: 'workspace-write', writable_roots: ['x'] }, sandboxCwd: '/' },
      'failed to deserialize sandbox state',
    ],
  ])('is refused when it is %s, and the state before stays', async (_what, params, message) => {
    await using fixture = await open();
    await fixture.allowWork();

    await expect(fixture.peer.request('codex/sandbox-state/update', params)).rejects.toMatchObject({
      code: -32_602,
      message,
      data: params,
    });
    expect((await fixture.run(WRITES)).stdout).toBe('1\n');
  });

  it('holds for one call when it comes with the call', async () => {
    await using fixture = await open();
    const call = async (permissionProfile: unknown): Promise<unknown> => {
      const _meta = { 'codex/sandbox-state-meta': { permissionProfile, sandboxCwd: `file://${fixture.work}` } };
      const args = { command: WRITES, workdir: fixture.work, login: false };
      const result = await fixture.peer.request('tools/call', { name: 'shell', arguments: args, _meta });
      return (result.structuredContent as { stdout: string }).stdout;
    };
    const entry = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });
    const entries = [entry('root', 'read'), entry('project_roots', 'write')];

    expect(await call({ type: 'managed', network: 'restricted', file_system: { type: 'restricted', entries } })).toBe(
      '1\n',
    );
    expect((await fixture.run(WRITES)).stdout).toBe('0\n');
    expect(await call({ type: 'disabled' })).toBe('1\n');
    expect(await call({ type: 'external', network: 'enabled' })).toBe('0\n');
    await expect(call({ type: 'unheard of' })).rejects.toMatchObject({
      code: -32_602,
      message: 'failed to deserialize sandbox state',
    });
  });
});
