import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { gone, isAlive } from '../../support/proc.ts';
import { serverProgram } from '../../support/server.ts';
import { eras, McpFixture, McpUser, type UserOptions } from './fixture.ts';

const TOKEN = 'correct-horse';

/** The program on a port of its own. */
class HttpServer implements AsyncDisposable {
  readonly fixture = new McpFixture();
  readonly #child;
  #url = '';

  constructor(args: readonly string[]) {
    const file = join(this.fixture.home, 'token');
    writeFileSync(file, `${TOKEN}\n`);
    const fixed = ['mcp', '--cwd', this.fixture.work, '--http', '127.0.0.1:0', '--http-token-file', file];
    this.#child = spawn(process.execPath, [serverProgram, ...fixed, ...args], {
      env: { ...this.fixture.env, EXEC_SERVER_MCP_TOKEN: TOKEN },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  static async start(...args: string[]): Promise<HttpServer> {
    const server = new HttpServer(args);
    const [url] = await once(createInterface({ input: server.#child.stdout }), 'line');
    server.#url = url;
    return server;
  }

  get url(): URL {
    return new URL(this.#url);
  }

  transport(token = TOKEN): StreamableHTTPClientTransport {
    const headers = { authorization: `Bearer ${token}` };
    return new StreamableHTTPClientTransport(this.url, { requestInit: { headers } });
  }

  user(options: UserOptions = {}): Promise<McpUser> {
    return new McpUser(options).connect(this.transport());
  }

  /** The status and the words of an answer to a request made by hand. */
  async post(
    headers: Record<string, string>,
    body: unknown = initialize,
    path = this.url.pathname,
  ): Promise<{ status: number; body: string }> {
    const sent = request(this.url, {
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    });
    sent.end(JSON.stringify(body));
    const [response] = await once(sent, 'response');
    return { status: response.statusCode, body: await text(response) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    await this.fixture[Symbol.asyncDispose]();
  }
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

describe('exec-server mcp --http', () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await HttpServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  describe.each(eras)('to a client of %s', (era) => {
    it('runs commands and follows them over several calls', async () => {
      await using user = await server.user({ era });
      const { structured } = await user.exec('echo one; pwd');
      const terminal = await user.terminal('stty -echo; echo ready; read -r line; echo "got $line"');
      await terminal.type('hello\n', /got hello/);

      expect(structured).toMatchObject({ exit_code: 0, output: `one\n${server.fixture.work}\n` });
      expect(terminal.exitCode).toBe(0);
    });

    it('asks the user, and goes on with what the user says', async () => {
      const answer = () => ({ action: 'accept', content: { decision: 'accept' } }) as const;
      await using user = await server.user({ era, answer });
      const escalated = { sandbox_permissions: 'require_escalated', justification: 'Please?' };

      const { structured } = await user.exec(
        `echo hi > ${server.fixture.outside}/f; cat ${server.fixture.outside}/f`,
        escalated,
      );

      expect(structured).toMatchObject({ output: 'hi\n' });
      expect(user.questions).toHaveLength(1);
    });

    it('tells of progress', async () => {
      await using user = await server.user({ era });
      const fifo = join(server.fixture.work, `fifo-${era}`);
      await user.exec(`mkfifo ${fifo}`);
      let told = 0;
      const onprogress = () => void (told++ === 0 && writeFile(fifo, 'go'));

      const { structured } = await user.exec(`cat ${fifo}`, { yield_time_ms: 30_000 }, { onprogress });

      expect(structured).toMatchObject({ output: 'go' });
    });
  });

  it('keeps the token from commands', async () => {
    await using user = await server.user();

    expect((await user.exec('env | grep -c correct-horse')).structured).toMatchObject({ output: '0\n' });
  });

  it('refuses those who do not know the token', async () => {
    await expect(new McpUser({}).connect(server.transport('wrong'))).rejects.toThrow();
    expect(await server.post({})).toEqual({ status: 401, body: expect.stringContaining('a bearer token is required') });
    expect(await server.post({ authorization: `Bearer ${TOKEN}x` })).toEqual({
      status: 401,
      body: expect.stringContaining('the bearer token is wrong'),
    });
  });

  it('refuses web pages, and names that are not this machine’s', async () => {
    const authorization = `Bearer ${TOKEN}`;

    expect((await server.post({ authorization, origin: 'http://localhost:3000' })).status).toBe(403);
    expect((await server.post({ authorization, host: `evil.example:${server.url.port}` })).status).toBe(403);
    expect((await server.post({ authorization })).status).toBe(200);
  });

  it.each(['//', '/other', 'http://[', '/mcp/'])('has nothing at %s', async (path) => {
    expect((await server.post({ authorization: `Bearer ${TOKEN}` }, initialize, path)).status).toBe(404);
    expect((await server.post({ authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });

  it('knows no sessions but its own', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };

    expect(await server.post({ ...headers, 'mcp-session-id': 'made-up' }, list)).toEqual({
      status: 404,
      body: expect.stringContaining('unknown session'),
    });
    expect(await server.post(headers, list)).toEqual({
      status: 400,
      body: expect.stringContaining('a session begins with initialize'),
    });
  });
});

describe('a session over HTTP', () => {
  it('keeps its commands to itself, and they end with it', async () => {
    await using server = await HttpServer.start('--sandbox', 'danger-full-access');
    const transport = server.transport();
    await using one = await new McpUser({}).connect(transport);
    await using other = await server.user();

    const { structured } = await one.exec('echo $$; exec sleep 1000', { yield_time_ms: 250 });
    const pid = Number(String(structured?.output).trim());
    const foreign = await other.call('write_stdin', { session_id: structured?.session_id });

    expect(foreign).toMatchObject({ isError: true, text: expect.stringContaining('Unknown process id') });
    expect(isAlive(pid)).toBe(true);
    await transport.terminateSession();
    await gone([pid]);
  });
});

describe('exec-server mcp --help', () => {
  it('explains every option, and wrong ones are refused', async () => {
    const { stdout, code } = await runCommand(['mcp', '--help']);

    expect(code).toBe(0);
    const flags =
      'tools local connect remote token-file sandbox approval cwd rules longest-wait-ms http http-token-file';
    for (const flag of flags.split(' ')) expect(stdout).toContain(`--${flag}`);
    for (const [args, reason] of [
      [['--tools', 'hammer'], "invalid value 'hammer' for --tools"],
      [['--sandbox', 'none'], "invalid value 'none' for --sandbox"],
      [['--approval', 'maybe'], "invalid value 'maybe' for --approval"],
      [['--cwd', 'here'], "invalid value 'here' for --cwd"],
      [['--longest-wait-ms', '100'], "invalid value '100' for --longest-wait-ms"],
      [['--http', '0.0.0.0:80'], '0.0.0.0 is not a loopback address'],
      [['--http', 'localhost'], "invalid value 'localhost' for --http"],
      [['--local', '--connect', 'ws://127.0.0.1:1'], '--local cannot be used together'],
      [['--http-token-file', '/tmp/x'], '--http-token-file works only together with --http'],
      [['more'], "unexpected argument 'more'"],
    ] as const) {
      expect(await runCommand(['mcp', ...args])).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
    }
  });

  it.each([
    [['--connect', 'ws://127.0.0.1:1'], 'ECONNREFUSED'],
    [['--cwd', '/no/such/place'], 'cannot work in /no/such/place: No such file or directory'],
    [['--rules', '/no/such/file'], '/no/such/file'],
  ])('ends with the reason when it cannot work with %j', async (args, reason) => {
    expect(await runCommand(['mcp', ...args])).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) });
  });
});
