import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it } from 'vitest';
import { serverProgram } from '../../support/server.ts';
import { eras, McpFixture } from '../mcp/fixture.ts';

const rules = `
prefix_rule(pattern = ["touch"])
prefix_rule(pattern = ["mkdir"], decision = "prompt")
prefix_rule(pattern = ["uname"], decision = "forbidden")
`;

describe.each(eras)('a client of the SDK that speaks %s', (era) => {
  const connect = async (fixture: McpFixture, answer?: (message: string) => 'accept' | 'decline') => {
    mkdirSync(join(fixture.home, 'rules'));
    writeFileSync(join(fixture.home, 'rules/default.rules'), rules);
    const client = new Client(
      { name: 'test', version: '1' },
      {
        capabilities: answer ? { elicitation: {} } : {},
        ...(era === '2026-07-28' && { versionNegotiation: { mode: { pin: era } } }),
      },
    );
    if (answer) {
      client.setRequestHandler('elicitation/create', ({ params }) => ({ action: answer(params.message) }));
    }
    const args = [serverProgram, 'mcp', '--tools', 'shell'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env: fixture.env }));
    return {
      run: async (command: string) => {
        const call = { name: 'shell', arguments: { command, workdir: fixture.work, login: false } };
        return (await client.callTool(call)).structuredContent as { stdout: string; stderr: string };
      },
      [Symbol.asyncDispose]: () => client.close(),
    };
  };

  it('has programs allowed, accepted, declined and forbidden', async () => {
    await using fixture = new McpFixture();
    const questions: string[] = [];
    await using client = await connect(fixture, (message) => {
      questions.push(message);
      return message.includes('/no`') ? 'decline' : 'accept';
    });
    const made = (name: string): string => join(fixture.outside, name);

    const { stdout, stderr } = await client.run(
      `touch ${made('a')}; mkdir ${made('one')} & mkdir ${made('two')} & wait; mkdir ${made('no')}; uname; echo end`,
    );

    expect(stdout).toBe('end\n');
    expect(stderr).toContain('Execution denied: User declined execution\n');
    expect(stderr).toContain('Execution denied: Execution forbidden by policy\n');
    expect(['a', 'one', 'two', 'no'].filter((name) => existsSync(made(name)))).toEqual(['a', 'one', 'two']);
    expect(questions).toHaveLength(3);
  });

  it('has what needs a question denied when it cannot ask', async () => {
    await using fixture = new McpFixture();
    await using client = await connect(fixture);

    expect((await client.run('mkdir x; echo end')).stdout).toBe('end\n');
    expect((await client.run('mkdir x')).stderr).toContain(
      'Execution denied: approval required but the client cannot be asked\n',
    );
  });
});
