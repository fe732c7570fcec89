import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ExecServerClient } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { runCommand } from '../../support/command.ts';
import { startServer } from '../../support/server.ts';
import { connectBare } from '../../support/wire-client.ts';

const tokenIn = (url: string): string => /^ws:\/\/127\.0\.0\.1:\d+\/#token=([\w-]{43})$/.exec(url)?.[1] ?? '';

const WARNING =
  'warning: the token stands in the arguments, where other users and the history of the shell can have it; ' +
  'use --token-file or EXEC_SERVER_TOKEN\n';

describe('--print-token-url', () => {
  it('prints a URL with a token of its own, without which no client is served', async () => {
    await using one = await startServer({ args: ['--print-token-url'] });
    await using two = await startServer({ args: ['--print-token-url'] });
    const [plain = ''] = one.url.split('#');

    expect(tokenIn(one.url)).not.toBe('');
    expect(tokenIn(one.url)).not.toBe(tokenIn(two.url));
    await expect(connectBare(plain)).rejects.toThrow('401');
    await expect(connectBare(plain, { headers: { authorization: `Bearer ${tokenIn(two.url)}` } })).rejects.toThrow(
      '401',
    );
  });

  it.each([
    [['--ws-auth', 'capability-token'], '--ws-auth'],
    [['--ws-token-file', '/tmp/x'], '--ws-token-file'],
    [['--remote', 'http://127.0.0.1:1', '--environment-id', 'box'], '--remote'],
    [['--listen', 'stdio'], '--listen stdio'],
  ])('is refused together with %j', async (args, named) => {
    const { code, stderr } = await runCommand(['--print-token-url', ...args]);

    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`--print-token-url cannot be used together with ${named}\n`),
    ]);
  });

  it('is what run, cp and webSocket() connect to', async () => {
    await using server = await startServer({ args: ['--print-token-url'] });
    const folder = mkdtempSync(join(tmpdir(), 'token-url-'));
    writeFileSync(join(folder, 'a'), 'content');

    const ran = await runCommand(['run', '--connect', server.url, '--', 'echo', 'hello']);
    const copied = await runCommand(['cp', '--connect', server.url, join(folder, 'a'), `env:${join(folder, 'b')}`]);
    await using client = await ExecServerClient.connect(webSocket(server.url), { clientName: 'test' });
    const content = readFileSync(join(folder, 'b'), 'utf8');
    rmSync(folder, { recursive: true });

    expect(ran).toMatchObject({ code: 0, stdout: 'hello\n' });
    expect(copied).toMatchObject({ code: 0 });
    expect(content).toBe('content');
    expect(client).toBeDefined();
  });

  it('shows the token neither in errors nor among the arguments', async () => {
    let authorization: string | undefined;
    const refusing = createServer((_, response) => response.writeHead(403).end('go away\n'));
    refusing.on('upgrade', (request, socket) => {
      authorization = request.headers.authorization;
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 7\r\n\r\ngo away');
    });
    refusing.listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const { port } = refusing.address() as { port: number };

    const refused = await runCommand(['run', '--connect', `ws://127.0.0.1:${port}/#token=very-secret`, '--', 'true']);
    refusing.close();
    const nonsense = await runCommand(['run', '--connect', 'nonsense#token=very-secret', '--', 'true']);

    expect(authorization).toBe('Bearer very-secret');
    expect(refused.stderr.replace(WARNING, '')).toBe(
      `Error: cannot connect to ws://127.0.0.1:${port}: the server refused the connection (HTTP 403): go away\n`,
    );
    expect(refused.stderr + nonsense.stderr).not.toContain('very-secret');
    expect([refused.code, nonsense.code]).toEqual([255, 2]);
  });

  it.each([
    ['', 'missing'],
    ['/#token=another', 'invalid'],
  ])('says to a client with %j where to put the token', async (fragment, fault) => {
    await using server = await startServer({ args: ['--print-token-url'] });
    const [plain = ''] = server.url.split('/#');

    const { stderr } = await runCommand(['run', '--connect', `${plain}${fragment}`, '--', 'true']);

    expect(stderr.replace(WARNING, '')).toBe(
      `Error: cannot connect to ${plain}: the server refused the connection (HTTP 401): ${fault} websocket bearer token; ` +
        'give its token with --token-file or in EXEC_SERVER_TOKEN\n',
    );
  });

  it.each([
    ['run', '--', 'true'],
    ['cp', 'env:/etc/hostname', '/dev/null'],
    ['forward', '--remote', 'http://127.0.0.1:1', '--environment-id', 'box'],
    ['mcp'],
  ])('is warned about once when %s finds it in its arguments', async (command, ...more) => {
    // Nothing listens there, and no command gets further than that.
    const args = [command, '--connect', 'ws://127.0.0.1:1/#token=secret', '--register-timeout', '1', ...more];
    const { stderr } = await runCommand(command === 'forward' ? args : args.toSpliced(3, 2), { CODEX_API_KEY: 'key' });

    expect(stderr.split(WARNING)).toHaveLength(2);
    expect(stderr).not.toContain('secret');
  });

  it('is not warned about where it comes from a file or a variable', async () => {
    await using server = await startServer({ args: ['--print-token-url'] });
    const [plain = ''] = server.url.split('/#');

    const { code, stderr } = await runCommand(['run', '--connect', plain, '--', 'true'], {
      EXEC_SERVER_TOKEN: tokenIn(server.url),
    });

    expect([code, stderr]).toEqual([0, '']);
  });

  it('keeps its token when the settings are read again', async () => {
    const env = { EXEC_SERVER_LOG: 'info' };
    await using server = await startServer({ args: ['--print-token-url'], env, detached: true });
    const headers = { authorization: `Bearer ${tokenIn(server.url)}` };
    const [plain = ''] = server.url.split('#');

    server.process.kill('SIGHUP');
    await server.logged('settings.reloaded');

    await using client = await connectBare(plain, { headers });
    expect(client).toBeDefined();
    await expect(connectBare(plain)).rejects.toThrow('401');
  });

  it('excludes another kind of authentication', async () => {
    const { code, stderr } = await runCommand(['--print-token-url', '--ws-auth', 'capability-token']);

    expect(code).toBe(2);
    expect(stderr).toContain('--print-token-url cannot be used together with --ws-auth');
  });
});
