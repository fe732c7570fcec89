import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentIdentity, Outgoing } from '../../../src/relay/remote/index.ts';
import { runCommand } from '../../support/command.ts';
import { ForwardProxy } from '../../support/forward-proxy.ts';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { BackgroundProgram } from '../../support/remote-programs.ts';
import { ScriptedRegistry } from '../../support/scripted-registry.ts';
import { startServer } from '../../support/server.ts';
import { type ServerKeys, TestAuthority } from '../../support/test-authority.ts';
import { connect } from '../../support/wire-client.ts';

let authority: TestAuthority;
let keys: ServerKeys;
let token: string;
beforeAll(() => {
  authority = new TestAuthority();
  keys = authority.issue('IP:127.0.0.1');
  token = authority.write('token', 'executor-token');
});
afterAll(() => authority[Symbol.dispose]());

const unset = { CODEX_CA_CERTIFICATE: undefined, SSL_CERT_FILE: undefined };

/** What `http/request` gives for a URL in a server with these variables: the status, or why there is none. */
async function requested(url: string, env: NodeJS.ProcessEnv): Promise<number | string> {
  await using server = await startServer({ env: { ...unset, ...env } });
  await using client = await connect(server.url);
  return await client.call<{ status: number }>('http/request', { method: 'GET', url, requestId: 'r' }).then(
    ({ status }) => status,
    (error: Error) => error.message,
  );
}

async function startSecureServer(answer = 'ok') {
  const server = createServer(keys, (_, response) => response.end(answer)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe('http/request', () => {
  it('trusts the certificates that a variable names, and without one only the roots of the system', async () => {
    await using server = await startSecureServer();
    const { file } = authority;
    const several = authority.write('several.pem', `# ours\n${keys.cert}\n${readFileSync(file, 'utf8')}`);

    expect(await requested(server.url, {})).toMatch(/unable to verify|self.signed|local issuer/);
    expect(await requested(server.url, { CODEX_CA_CERTIFICATE: file })).toBe(200);
    expect(await requested(server.url, { SSL_CERT_FILE: several })).toBe(200);
    expect(await requested(server.url, { CODEX_CA_CERTIFICATE: '', SSL_CERT_FILE: file })).toBe(200);
    expect(await requested(server.url, { CODEX_CA_CERTIFICATE: '', SSL_CERT_FILE: '' })).toMatch(/issuer|verify/);
  });

  it('prefers CODEX_CA_CERTIFICATE', async () => {
    await using server = await startSecureServer();
    const env = { CODEX_CA_CERTIFICATE: join(authority.folder, 'missing'), SSL_CERT_FILE: authority.file };

    expect(await requested(server.url, env)).toMatch(/missing, which CODEX_CA_CERTIFICATE names: No such file/);
    expect(await requested(server.url, { ...env, CODEX_CA_CERTIFICATE: authority.file })).toBe(200);
  });

  it.each(['CODEX_CA_CERTIFICATE', 'SSL_CERT_FILE'])('says what is wrong with the file that %s names', async (name) => {
    await using server = await startSecureServer();
    const folder = join(authority.folder, `folder-${name}`);
    mkdirSync(folder);
    const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const files = [
      [join(authority.folder, 'nowhere'), 'No such file or directory (os error 2)'],
      [authority.write('empty', ''), 'it contains no certificate'],
      [authority.write('key', keys.key), 'it contains no certificate'],
      [authority.write('damaged', readFileSync(authority.file, 'utf8') + damaged), 'certificate 2 in it is damaged'],
      [folder, 'it is not a file'],
    ] as const;

    for (const [path, reason] of files) {
      const text = await requested(server.url, { [name]: path });
      expect(text).toContain(
        `http/request failed: cannot use the certificate file ${path}, which ${name} names: ${reason}`,
      );
    }
  });

  it('fails without TLS, too, when the file cannot be used', async () => {
    await using plain = await HttpUpstream.start((_, outgoing) => outgoing.end());

    expect(await requested(plain.url, { SSL_CERT_FILE: '/nowhere/roots.pem' })).toContain('which SSL_CERT_FILE names');
  });
});

describe('exec-server --remote', () => {
  const args = (url: string) => ['--remote', url, '--environment-id', 'env', '--remote-token-file', token];

  it('trusts the certificates that a variable names, for the registry and the rendezvous', async () => {
    await using registry = await ScriptedRegistry.start(keys);
    await using _environment = new BackgroundProgram({
      args: args(registry.url),
      env: { ...unset, SSL_CERT_FILE: authority.file },
    });
    await registry.connected();

    const place = ['--remote', registry.url, '--environment-id', 'env', '--token-file', token];
    const command = ['run', ...place, '--', 'echo', 'hello'];
    const harness = await runCommand(command, { ...unset, CODEX_CA_CERTIFICATE: authority.file });

    expect(harness).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
    expect(registry.upgrades.map(({ role }) => role)).toEqual(['environment', 'harness']);
  });

  it('does not trust it otherwise', async () => {
    await using registry = await ScriptedRegistry.start(keys);
    await using environment = new BackgroundProgram({ args: args(registry.url), env: unset });

    await environment.logs('environment.registration_failed');

    expect(registry.requests).toEqual([]);
  });

  it('stops at once when the file cannot be used', async () => {
    await using registry = await ScriptedRegistry.start(keys);
    const path = authority.write('nothing', 'nothing');

    const { code, stderr } = await runCommand(args(registry.url), { ...unset, CODEX_CA_CERTIFICATE: path });

    expect(code).toBe(1);
    expect(stderr).toContain(`${path}, which CODEX_CA_CERTIFICATE names: it contains no certificate`);
  });
});

/** A server behind a listener that ends TLS. */
async function behindTls(url: string) {
  const listener = createTlsServer(keys, (socket) => {
    const server = connectPlain(Number(new URL(url).port), '127.0.0.1');
    for (const [from, to] of [
      [socket, server],
      [server, socket],
    ] as const) {
      from.on('error', () => to.destroy()).pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: `wss://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
    },
  };
}

describe('a client of a server behind TLS', () => {
  it('trusts the certificates that a variable names', async () => {
    await using server = await startServer();
    await using secure = await behindTls(server.url);
    const command = ['run', '--connect', secure.url, '--', 'echo', 'hello'];
    const withFile = (file: string | undefined) => runCommand(command, { ...unset, CODEX_CA_CERTIFICATE: file });

    expect(await withFile(authority.file)).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
    expect(await withFile(undefined)).toMatchObject({ code: 255, stderr: expect.stringMatching(/verify|issuer/) });
    expect(await withFile('/nowhere')).toMatchObject({
      code: 255,
      stderr: expect.stringContaining('which CODEX_CA_CERTIFICATE names: No such file'),
    });
  });

  it('trusts them as a forwarder', async () => {
    await using server = await startServer();
    await using secure = await behindTls(server.url);
    await using registry = await ScriptedRegistry.start(keys);
    const env = { ...unset, CODEX_CA_CERTIFICATE: authority.file };
    const forward = ['--remote', registry.url, '--environment-id', 'env', '--remote-token-file', token];
    await using _forward = new BackgroundProgram({ args: ['forward', '--connect', secure.url, ...forward], env });
    await registry.connected();

    const place = ['--remote', registry.url, '--environment-id', 'env', '--token-file', token];
    expect(await runCommand(['run', ...place, '--', 'echo', 'hello'], env)).toMatchObject({
      code: 0,
      stdout: 'hello\n',
    });
  });
});

describe('the proxy that the environment names', () => {
  const place = ['--environment-id', 'env'];

  it.each([
    ['without TLS', false],
    ['by TLS', true],
  ])('is the way to the registry and to the rendezvous, %s', async (_, secure) => {
    await using registry = await ScriptedRegistry.start(keys);
    const { host, port } = new URL(registry.url);
    await using proxy = await ForwardProxy.start(Number(port), secure ? keys : undefined);
    const env = { ...unset, SSL_CERT_FILE: authority.file, HTTPS_PROXY: proxy.url, NO_PROXY: '' };
    const args = ['--remote', registry.url, ...place, '--remote-token-file', token];
    await using _environment = new BackgroundProgram({ args, env });
    await registry.connected();

    const harness = ['--remote', registry.url, ...place, '--token-file', token];
    expect(await runCommand(['run', ...harness, '--', 'echo', 'hello'], env)).toMatchObject({ stdout: 'hello\n' });
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${host}`]));
    expect(proxy.asked.length).toBeGreaterThanOrEqual(registry.upgrades.length + 2);
  });

  it('is left out for what NO_PROXY names', async () => {
    await using registry = await ScriptedRegistry.start(keys);
    const env = { ...unset, SSL_CERT_FILE: authority.file, HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: '127.0.0.1' };
    const args = ['--remote', registry.url, ...place, '--remote-token-file', token];
    await using _environment = new BackgroundProgram({ args, env });

    await registry.connected();
    expect(registry.upgrades.map(({ role }) => role)).toEqual(['environment']);
  });
});

describe('a request for the token of an agent identity', () => {
  it('trusts the certificates that a variable names, and fails with its name when they cannot be used', async () => {
    await using accounts = await startSecureServer('{"task_id":"t"}');
    const key = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
    const claims = { agent_runtime_id: 'r', agent_private_key: key, account_id: 'a' };
    const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
    const headersWith = async (file: string) => {
      const outgoing = new Outgoing({ CODEX_CA_CERTIFICATE: file });
      const identity = agentIdentity(token, { outgoing, accountsUrl: accounts.url.slice(0, -1) });
      return await identity.headers(new AbortController().signal);
    };

    await expect(headersWith('')).rejects.toThrow('failed to register agent task: no answer');
    await expect(headersWith('/nowhere/roots.pem')).rejects.toThrow('which CODEX_CA_CERTIFICATE names');
    expect(await headersWith(authority.file)).toMatchObject({
      authorization: expect.stringMatching(/^AgentAssertion /),
    });
  });
});
