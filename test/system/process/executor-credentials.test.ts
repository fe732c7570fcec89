import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { serverProgram, startServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';

const everything = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };

const unsendable = [
  'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
  'OPENAI_FEDERATION_RULE_ID',
  'OPENAI_IDENTITY_TOKEN_FILE',
  'OPENAI_WORKLOAD_IDENTITY_CONTEXT',
  'OPENAI_API_KEY',
  'CODEX_API_KEY',
  'CODEX_ACCESS_TOKEN',
  'CODEX_CONNECTORS_TOKEN',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AZURE_CLIENT_SECRET',
  'AZURE_FEDERATED_TOKEN_FILE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'CODEX_EXEC_SERVER_ANYTHING',
  'EXEC_SERVER_TOKEN',
  'EXEC_SERVER_MCP_TOKEN',
];

async function environmentOf(client: WireClient, start: Readonly<Record<string, unknown>>): Promise<string[]> {
  const child = await client.start({ argv: ['/usr/bin/env', '-0'], ...start });
  await child.closed();
  return child
    .output('stdout')
    .split('\0')
    .filter((entry) => entry !== '');
}

/** A server that accepts the token of a file, with a variable that holds a copy of it. */
async function startWithToken(token: string, env: NodeJS.ProcessEnv = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  const file = join(folder, 'token');
  await writeFile(file, `${token}\n`);
  const server = await startServer({ args: ['--ws-auth', 'capability-token', '--ws-token-file', file], env });
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}

describe('http/request and the variables of the executor', () => {
  it('refuses credentials in any case of letters, set or not, and nothing arrives', async () => {
    const arrived: string[] = [];
    await using upstream = await HttpUpstream.start((incoming, outgoing) => {
      arrived.push(String(incoming.headers['x-value']));
      outgoing.end();
    });
    const set = Object.fromEntries(unsendable.map((name) => [name, 'stolen']));
    await using withValues = await startServer({ env: { ...set, openai_api_key: 'stolen' } });
    await using without = await startServer();
    for (const url of [withValues.url, without.url]) {
      await using client = await connect(url);
      for (const name of [...unsendable, ...unsendable.map((upper) => upper.toLowerCase())]) {
        const headers = [{ name: 'X-Value', value: '', valueEnvVar: name }];
        const asked = client.call('http/request', { method: 'GET', url: upstream.url, requestId: 'r', headers });

        await expect(asked, name).rejects.toMatchObject({
          code: -32602,
          message: `http/request header X-Value cannot use executor environment variable ${name}`,
        });
      }
    }

    expect(arrived).toEqual([]);
  });

  it('sends NODE_REPL_AUTH_TOKEN, as the reference does', async () => {
    await using upstream = await HttpUpstream.start((incoming, outgoing) => {
      outgoing.setHeader('x-seen', String(incoming.headers['x-value'])).end();
    });
    await using server = await startServer({ env: { NODE_REPL_AUTH_TOKEN: 'repl' } });
    await using client = await connect(server.url);

    const headers = [{ name: 'X-Value', value: '', valueEnvVar: 'NODE_REPL_AUTH_TOKEN' }];
    const answer = await client.call('http/request', { method: 'GET', url: upstream.url, requestId: 'r', headers });

    expect(answer.headers).toContainEqual({ name: 'x-seen', value: 'repl' });
  });

  it('takes values of the environment to no other origin, and keeps them on their own', async () => {
    const seen: Record<string, unknown>[] = [];
    const note = (where: string, { 'x-value': value, 'x-plain': plain }: Readonly<Record<string, unknown>>) =>
      seen.push({ where, value, plain });
    await using other = await HttpUpstream.start((incoming, outgoing) => {
      note('other', incoming.headers);
      outgoing.end();
    });
    await using upstream = await HttpUpstream.start((incoming, outgoing) => {
      note(incoming.url!, incoming.headers);
      outgoing.writeHead(307, { location: incoming.url === '/1' ? '/2' : other.url }).end();
    });
    await using server = await startServer({ env: { OF_THE_EXECUTOR: 'secret' } });
    await using client = await connect(server.url);

    const headers = [
      { name: 'X-Value', value: 'Bearer ', valueEnvVar: 'OF_THE_EXECUTOR' },
      { name: 'X-Plain', value: 'plain' },
    ];
    await client.call('http/request', { method: 'GET', url: `${upstream.url}/1`, requestId: 'r', headers });

    expect(seen).toEqual([
      { where: '/1', value: 'Bearer secret', plain: 'plain' },
      { where: '/2', value: 'Bearer secret', plain: 'plain' },
      { where: 'other', value: undefined, plain: 'plain' },
    ]);
  });

  it('refuses a variable whose value is the token of the server', async () => {
    await using server = await startWithToken('a-token-of-the-server', { COPY: 'a-token-of-the-server' });
    await using client = await connect(server.url, { headers: { authorization: 'Bearer a-token-of-the-server' } });

    const headers = [{ name: 'X', value: '', valueEnvVar: 'COPY' }];
    const asked = client.call('http/request', { method: 'GET', url: 'http://127.0.0.1:9/', requestId: 'r', headers });

    await expect(asked).rejects.toMatchObject({ code: -32602 });
  });
});

describe('the credentials of the executor', () => {
  it('are inherited by no command, whatever its policy says', async () => {
    const own = ['CODEX_API_KEY', 'CODEX_EXEC_SERVER_ANYTHING', 'EXEC_SERVER_TOKEN', 'EXEC_SERVER_MCP_TOKEN'];
    const env = Object.fromEntries(own.map((name) => [name, 'mine']));
    await using server = await startServer({ env: { ...env, GH_TOKEN: 'of the user', OPENAI_API_KEY: 'of the user' } });
    await using client = await connect(server.url);

    for (const policy of [everything, { ...everything, includeOnly: ['*'] }]) {
      const seen = await environmentOf(client, { envPolicy: policy });

      expect(seen.filter((entry) => entry.endsWith('=mine'))).toEqual([]);
      expect(seen).toEqual(expect.arrayContaining(['GH_TOKEN=of the user', 'OPENAI_API_KEY=of the user']));
    }
  });

  it('are recognised by their value under any name, inherited or sent', async () => {
    const token = 'f2c9a3b1-the-token';
    await using server = await startWithToken(token, { COPY: token });
    await using client = await connect(server.url, { headers: { authorization: `Bearer ${token}` } });

    const seen = await environmentOf(client, {
      envPolicy: { ...everything, set: { SET: token } },
      env: { SENT: token, OTHER: `${token}x` },
    });

    expect(seen.filter((entry) => entry.endsWith(token))).toEqual([]);
    expect(seen).toContain(`OTHER=${token}x`);
  });

  it('leave what a request sends alone, but for the names that the reference drops', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const sent = { CODEX_API_KEY: '1', EXEC_SERVER_TOKEN: '2', CODEX_EXEC_SERVER_ANYTHING: '3' };
    const dropped = { NODE_REPL_AUTH_TOKEN: '4', CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: '5' };

    const seen = await environmentOf(client, { env: { ...sent, ...dropped } });

    expect(seen.sort()).toEqual(['CODEX_API_KEY=1', 'CODEX_EXEC_SERVER_ANYTHING=3', 'EXEC_SERVER_TOKEN=2']);
  });

  const readable = {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
    },
    network: 'restricted',
  };
  const shell = { name: 'bash', path: '/bin/bash' };
  const command = ['/bin/bash', '-lc', '/usr/bin/env -0'];
  const paths: Readonly<Record<string, (sent: object) => Readonly<Record<string, unknown>>>> = {
    'behind pipes': (env) => ({ env, envPolicy: everything }),
    'at a terminal': (env) => ({ env, envPolicy: everything, tty: true }),
    'in a sandbox': (env) => ({ env, envPolicy: everything, sandbox: { permissions: readable, cwd: 'file:///' } }),
    'in a restored shell': (env) => ({
      env,
      envPolicy: everything,
      argv: command,
      shellSnapshot: { scopeId: 's', shell },
    }),
    'in a restored shell without a policy': (env) => ({ env, argv: command, shellSnapshot: { scopeId: 't', shell } }),
    'as a prepared request': (env) => ({
      mode: 'prepared',
      argv: undefined,
      cwd: undefined,
      env: undefined,
      request: { argv: ['/usr/bin/env', '-0'], cwd: 'file:///', env },
    }),
  };

  it.each(Object.entries(paths))('reach no command %s', async (_name, start) => {
    const token = 'f2c9a3b1-the-token';
    await using server = await startWithToken(token, {
      COPY: token,
      CODEX_API_KEY: token,
      EXEC_SERVER_MCP_TOKEN: 'mine',
    });
    await using client = await connect(server.url, { headers: { authorization: `Bearer ${token}` } });

    const options = start({ SENT: token, OTHER: 'seen', HOME: '/nowhere' });
    const child = await client.start({ argv: ['/usr/bin/env', '-0'], ...options });
    await child.closed();
    const seen = child.output(options.tty ? 'pty' : 'stdout');

    expect(seen).toContain('OTHER=seen');
    expect(seen).not.toContain(token);
    expect(seen).not.toContain('mine');
  });

  it.each([
    ['unified-exec', 'exec_command', { cmd: '/usr/bin/env' }],
    ['shell', 'shell', { command: '/usr/bin/env', workdir: '/' }],
  ])('reach no command of mcp --tools %s', async (tools, name, args) => {
    const env = { CODEX_API_KEY: 'mine', EXEC_SERVER_TOKEN: 'mine', EXEC_SERVER_MCP_TOKEN: 'mine', OTHER: 'seen' };
    const child = spawn(process.execPath, [serverProgram, 'mcp', '--tools', tools], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, ...env },
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ask = async (message: object): Promise<string> => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })}\n`);
      return (await lines.next()).value as string;
    };
    const clientInfo = { name: 't', version: '1' };
    await ask({ method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    const answer = await ask({ method: 'tools/call', params: { name, arguments: args } });
    child.stdin.end();

    expect(answer).toContain('OTHER=seen');
    expect(answer).not.toContain('=mine');
  });
});
