import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { networkRules } from '../../support/network-rules.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { base64, connect, connectBare } from '../../support/wire-client.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';
import { ask, parseMetrics, sampleOf, TestFolder } from './fixture.ts';

const env = { EXEC_SERVER_LOG: 'info' };

function startOperated(...args: readonly string[]): Promise<TestServer> {
  return startServer({ args: ['--ops-listen', 'http://127.0.0.1:0', ...args], env });
}

const opsUrl = async (server: TestServer): Promise<string> => String((await server.lineOf('ops.listening')).url);

describe('/healthz', () => {
  it.each([
    ['ask nothing', ''],
    ['do not complete what they ask', 'GET /healthz HTTP/1.1\r\nhost:'],
    ['have asked already', 'GET / HTTP/1.1\r\nhost: h\r\n\r\n'],
  ])('is answered while a thousand connections are open that %s', async (_, text) => {
    await using server = await startOperated();
    const url = await opsUrl(server);
    const { hostname, port } = new URL(url);
    const idle = Array.from({ length: 1000 }, () =>
      connectTcp(Number(port), hostname)
        .on('error', () => {})
        .resume(),
    );
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    for (const socket of idle) socket.write(text);

    expect((await ask(url, '/healthz')).status).toBe(200);

    for (const socket of idle) socket.destroy();
  });

  it('tells that a server serves, and while it stops that it does not', async () => {
    await using server = await startOperated('--shutdown-grace-period-ms', '20000');
    const url = await opsUrl(server);
    await using client = await connect(server.url);
    const stubborn = await client.start({ argv: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 1; done'] });
    await stubborn.printed('ready');

    const before = await ask(url, '/healthz');
    server.process.kill('SIGTERM');
    let after = before;
    while (after.status === 200) after = await ask(url, '/healthz');

    expect([before, after]).toEqual([
      { status: 200, type: 'text/plain', body: 'ok\n' },
      { status: 503, type: 'text/plain', body: 'stopping\n' },
    ]);
    await client.call('process/terminate', { processId: stubborn.id });
    expect(await server.ended()).toBe(0);
  });

  it('is answered to programs alone: not to pages of a browser, and by no other method', async () => {
    await using server = await startOperated();
    const url = await opsUrl(server);

    expect((await ask(url, '/healthz', { origin: 'https://page.example' })).status).toBe(403);
    expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200);
    expect(await ask(url, '/')).toMatchObject({ status: 404, body: 'there are /healthz and /metrics\n' });
  });
});

describe('/metrics', () => {
  it('counts sessions, processes, bytes and refusals, in the format of Prometheus', async () => {
    await using server = await startOperated();
    const url = await opsUrl(server);
    await using client = await connect(server.url);
    const reader = await client.start({ argv: ['cat'], pipeStdin: true });
    await client.call('process/write', { processId: reader.id, chunk: base64('twelve bytes') });
    await reader.printed('twelve bytes');
    expect(await (await client.start({ argv: ['false'] })).exited()).toBe(1);
    expect(await (await client.start({ argv: ['true'] })).exited()).toBe(0);
    expect(await (await client.start({ argv: ['sh', '-c', 'kill -KILL $$'] })).exited()).toBe(137);
    await (await client.start({ argv: ['sleep', '600'], timeoutMs: 1 })).exited();
    await expect(client.start({ argv: ['/does/not/exist'] })).rejects.toThrow();
    await using left = await connect(server.url);
    left.cut();
    await left.closed;

    let { type, body } = await ask(url, '/metrics');
    let families = parseMetrics(body);
    while (sampleOf(families, 'exec_server_sessions', { state: 'detached' }) === 0) {
      ({ type, body } = await ask(url, '/metrics'));
      families = parseMetrics(body);
    }

    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(families.filter(({ help, type: kind }) => help === '' || kind === 'unknown')).toEqual([]);
    const values = (name: string, label: string, ...labels: readonly string[]) =>
      labels.map((value) => sampleOf(families, name, { [label]: value }));
    expect(values('exec_server_sessions', 'state', 'attached', 'detached')).toEqual([1, 1]);
    expect(sampleOf(families, 'exec_server_connections')).toBe(1);
    expect(sampleOf(families, 'exec_server_connections_total')).toBe(2);
    expect(sampleOf(families, 'exec_server_processes')).toBe(1);
    expect(sampleOf(families, 'exec_server_processes_started_total')).toBe(5);
    expect(sampleOf(families, 'exec_server_processes_not_started_total')).toBe(1);
    expect(values('exec_server_processes_exited_total', 'outcome', 'success', 'failure', 'signal', 'timeout')).toEqual([
      1, 1, 1, 1,
    ]);
    expect(values('exec_server_bytes_total', 'stream', 'output', 'stdin')).toEqual([12, 12]);
    expect(sampleOf(families, 'exec_server_spawn_seconds_count')).toBe(5);
    expect(sampleOf(families, 'exec_server_spawn_seconds_bucket', { le: '+Inf' })).toBe(5);
    expect(sampleOf(families, 'process_open_fds')).toBeGreaterThan(5);
    expect(sampleOf(families, 'process_max_fds')).toBeGreaterThan(5);
  });

  it('has the same labels whatever clients do: none of their words, paths and sessions', async () => {
    await using server = await startOperated();
    const url = await opsUrl(server);
    const labels = async () => {
      const samples = parseMetrics((await ask(url, '/metrics')).body).flatMap((family) => family.samples);
      return samples.map(([name, own]) => [name, own]);
    };
    const before = await labels();
    await using client = await connectBare(server.url);
    const sessionId = await client.initialize({ clientName: 'a client of its own kind' });
    for (const word of ['one', 'two']) {
      await (await client.start({ processId: `process-${word}`, argv: ['echo', word], cwd: 'file:///tmp' })).closed();
    }

    expect(await labels()).toEqual(before);
    expect((await ask(url, '/metrics')).body).not.toContain(sessionId);
  });

  it('counts what goes through ports, and ports that are refused', async () => {
    await using server = await startOperated();
    const url = await opsUrl(server);
    await using client = await connect(server.url);
    const echo = createServer((socket) => socket.pipe(socket));
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const { port } = echo.address() as AddressInfo;

    await client.call('net/open', { streamId: 's', port });
    await client.call('net/write', { streamId: 's', chunk: base64('twelve bytes') });
    await client.strayUntil((message) => 'method' in message && message.method === 'net/data');
    await expect(client.call('net/open', { streamId: 't', host: '169.254.169.254', port: 80 })).rejects.toThrow(
      'may not',
    );

    const families = parseMetrics((await ask(url, '/metrics')).body);
    expect(sampleOf(families, 'exec_server_bytes_total', { stream: 'to_port' })).toBe(12);
    expect(sampleOf(families, 'exec_server_bytes_total', { stream: 'from_port' })).toBe(12);
    expect(sampleOf(families, 'exec_server_denials_total', { by: 'port' })).toBe(1);
    await client.call('net/close', { streamId: 's' });
    echo.close();
  });

  it('counts a failure that a sandbox has caused, and clients that are turned away', async () => {
    using folder = new TestFolder();
    const file = folder.file('token');
    writeFileSync(file, 'a-token-of-some-length');
    const args = ['--ops-listen', 'http://127.0.0.1:0', '--ws-auth', 'capability-token', '--ws-token-file', file];
    const headers = { authorization: 'Bearer a-token-of-some-length' };
    await using fixture = await SandboxFixture.open(accounts[0]!, env, { args, headers });
    const url = await opsUrl(fixture.server);

    await fixture.run('echo x > /etc/never');
    await expect(connect(fixture.server.url, { headers: { authorization: 'Bearer another' } })).rejects.toThrow('401');

    const families = parseMetrics((await ask(url, '/metrics')).body);
    expect(sampleOf(families, 'exec_server_denials_total', { by: 'sandbox' })).toBe(1);
    expect(sampleOf(families, 'exec_server_logins_refused_total', { by: 'token' })).toBe(1);
    expect(await fixture.server.lineOf('login.refused')).toMatchObject({ reason: 'invalid websocket bearer token' });
  });
});

describe('the port for operators', () => {
  it('is not answered to a sandboxed command, and no managed proxy leads to it', async () => {
    const args = ['--ops-listen', 'http://127.0.0.1:0'];
    await using fixture = await SandboxFixture.open(accounts[0]!, env, { args });
    const url = await opsUrl(fixture.server);
    const { port } = new URL(url);
    const asking = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET /metrics HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n' >&3; head -1 <&3`;

    const { stdout } = await fixture.run(asking, { network: 'enabled' });

    expect(stdout.trim()).toBe('HTTP/1.1 403 Forbidden');
    expect((await ask(url, '/metrics')).status).toBe(200);

    const throughProxy = asking
      .replace(`127.0.0.1/${port}`, `127.0.0.1/\${HTTP_PROXY##*:}`)
      .replace('GET ', `GET ${url}`);
    const proxied = await fixture.client.start({
      argv: ['/bin/bash', '-c', throughProxy],
      networkProxy: { proxy: networkRules({ domains: { '*': 'allow' }, allowLocalBinding: true }) },
    });
    await proxied.closed();
    expect(proxied.output('stdout')).toContain('403 Forbidden');
  });

  it('can be a Unix socket, which sandboxed commands do not see', async () => {
    using folder = new TestFolder();
    const path = folder.file('ops.sock');
    await using fixture = await SandboxFixture.open(accounts[0]!, env, { args: ['--ops-listen', `unix:${path}`] });
    expect(await opsUrl(fixture.server)).toBe(`unix:${path}`);

    const { stdout } = await fixture.run(`test -S ${path} && echo seen || echo hidden`);

    expect(stdout).toBe('hidden\n');
    expect((await ask(`unix:${path}`, '/healthz')).body).toBe('ok\n');
    await fixture.server.stop();
    expect(existsSync(path)).toBe(false);
  });

  it('beyond loopback asks for a token with the scope view, but not for health', async () => {
    using folder = new TestFolder();
    const secret = randomBytes(32).toString('hex');
    writeFileSync(folder.file('secret'), secret);
    const auth = ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', folder.file('secret')];
    await using server = await startServer({ args: ['--ops-listen', 'http://0.0.0.0:0', ...auth], env });
    const url = (await opsUrl(server)).replace('0.0.0.0', '127.0.0.1');
    const bearer = async (...scopes: readonly string[]) => {
      const token = new SignJWT({ scopes }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('10m');
      return { authorization: `Bearer ${await token.sign(Buffer.from(secret))}` };
    };

    expect((await ask(url, '/healthz')).status).toBe(200);
    expect((await ask(url, '/metrics')).status).toBe(401);
    expect(await ask(url, '/metrics', await bearer('run', 'files'))).toMatchObject({
      status: 403,
      body: 'the token has not the scope view\n',
    });
    expect((await ask(url, '/metrics', await bearer('view'))).status).toBe(200);

    await using client = await connect(server.url, { headers: await bearer('view') });
    await expect(client.start({ argv: ['true'] })).rejects.toThrow('needs scope run');
    const families = parseMetrics((await ask(url, '/metrics', await bearer('view'))).body);
    expect(sampleOf(families, 'exec_server_denials_total', { by: 'scope' })).toBe(1);
  });

  it.each([
    ['http://0.0.0.0:0', 1, 'without authentication; use --tokens-file or --ws-auth'],
    [
      'https://127.0.0.1:0',
      2,
      "invalid value 'https://127.0.0.1:0' for --ops-listen: expected http://IP:PORT, unix:/PATH, systemd:NAME or fd:N",
    ],
    ['http://localhost:0', 2, "invalid value 'http://localhost:0' for --ops-listen"],
    ['unix:/does/not/exist/s', 1, 'cannot listen on /does/not/exist/s: there is no directory /does/not/exist'],
  ])('cannot be %s, which ends the server', async (url, code, message) => {
    const { stderr, ...ended } = await runCommand(['--ops-listen', url]);

    expect(ended).toMatchObject({ code, stdout: '' });
    expect(stderr).toContain(message);
  });
});
