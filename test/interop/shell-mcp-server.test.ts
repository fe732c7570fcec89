import { describe, expect, it } from 'vitest';
import type { RpcError } from '../system/escalation/fixture.ts';
import { type Pairing, ShellMcp } from './shell-mcp-fixture.ts';

const servers: Pairing[] = [
  { server: 'ours', wrapper: 'ours', bash: 'ours' },
  { server: 'reference', wrapper: 'reference', bash: 'reference' },
];

type Json = Record<string, unknown>;

const withoutWords = ({ properties }: { properties: Record<string, Json> }): Json =>
  Object.fromEntries(Object.entries(properties).map(([name, { description: _, ...schema }]) => [name, schema]));

describe.each(servers)('the $server server', (pairing) => {
  it('introduces itself and its tool in the same way', async () => {
    await using server = await ShellMcp.start(pairing, '');

    const { protocolVersion, capabilities, instructions } = server.introduction;
    const { tools } = (await server.peer.request('tools/list')) as { tools: Json[] };

    expect(protocolVersion).toBe('2025-03-26');
    expect(instructions).toEqual(expect.any(String));
    expect(capabilities).toMatchObject({
      tools: {},
      experimental: { 'codex/sandbox-state': { version: '1.0.0' } },
    });
    expect(tools.map(({ name }) => name)).toEqual(['shell']);
    const schema = tools[0]!.inputSchema as Json & { properties: Record<string, Json> };
    expect({ ...schema, properties: withoutWords(schema) }).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'ExecParams',
      type: 'object',
      required: ['command', 'workdir'],
      properties: {
        command: { type: 'string' },
        workdir: { type: 'string' },
        timeout_ms: { type: 'integer', format: 'uint64', minimum: 0, nullable: true },
        login: { type: 'boolean', nullable: true },
      },
    });
    expect(await server.peer.request('resources/list')).toEqual({ resources: [] });
    expect(await server.peer.request('prompts/list')).toEqual({ prompts: [] });
    expect(await server.peer.request('ping')).toEqual({});
  });

  it('refuses with the same errors', async () => {
    await using server = await ShellMcp.start(pairing, '');
    const error = (method: string, params?: Json): Promise<string> =>
      server.peer.request(method, params).then(
        () => 'none',
        ({ code, message }: RpcError) => `${code} ${message.replace(/(parameters:).*/, '$1')}`,
      );
    const call = (args: Json, name = 'shell') => error('tools/call', { name, arguments: args });

    expect([
      await call({ workdir: '/' }),
      await call({ command: 5, workdir: '/' }),
      await call({ command: 'true', workdir: '/', timeout_ms: -1 }),
      await call({ command: 'true', workdir: '/' }, 'other'),
      await error('codex/sandbox-state/update'),
      await error('codex/sandbox-state/update', { sandboxPolicy: { type: 'none' } }),
      await call({ command: 'true', workdir: '/no/where', login: false }),
    ]).toEqual([
      '-32602 failed to deserialize parameters:',
      '-32602 failed to deserialize parameters:',
      '-32602 failed to deserialize parameters:',
      '-32602 tool not found',
      '-32602 missing params for sandbox state request',
      '-32602 failed to deserialize sandbox state',
      '-32603 No such file or directory (os error 2)',
    ]);
  });

  it('answers with the four members every client reads', async () => {
    await using server = await ShellMcp.start(pairing, '');

    const args = { command: 'echo hi; exit 3', workdir: server.work, login: false };
    const { content, isError } = await server.peer.request('tools/call', { name: 'shell', arguments: args });
    const [{ type, text }] = content as [{ type: string; text: string }];

    expect(isError).toBe(false);
    expect(type).toBe('text');
    expect(JSON.parse(text)).toMatchObject({
      exit_code: 3,
      output: 'hi\n',
      duration: { secs: 0, nanos: expect.any(Number) },
      timed_out: false,
    });
  });

  it('gives commands the same environment', async () => {
    await using server = await ShellMcp.start(pairing, '');

    const { output } = await server.run('compgen -e | grep -v "^CODEX_ESCALATE_SHELL$" | sort | tr "\\n" " "');

    expect(output.trim().split(' ')).toEqual(
      expect.arrayContaining(['CODEX_ESCALATE_SOCKET', 'BASH_EXEC_WRAPPER', 'CODEX_SANDBOX_NETWORK_DISABLED', 'HOME']),
    );
  });
});
