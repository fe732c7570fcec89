import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { runCommand } from '../../support/command.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { TestAuthority } from '../../support/test-authority.ts';
import { base64, connect } from '../../support/wire-client.ts';

let authority: TestAuthority;
let ca: string;
beforeAll(() => {
  authority = new TestAuthority();
  ca = readFileSync(authority.file, 'utf8');
});
afterAll(() => authority[Symbol.dispose]());

/** Writes a new certificate and its key to two files; gives the flags that name them. */
function issueInto(name: string): string[] {
  const { cert, key } = authority.issue('IP:127.0.0.1');
  return ['--tls-cert', authority.write(`${name}.pem`, cert), '--tls-key', authority.write(`${name}.key`, key)];
}

const startTls = (...args: readonly string[]): Promise<TestServer> =>
  startServer({
    args: ['--listen', 'wss://127.0.0.1:0', ...args],
    env: { EXEC_SERVER_LOG: 'info' },
    detached: true,
  });

/** The fingerprint of the certificate that a new connection is shown. */
async function shownCertificate({ url }: TestServer): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port: Number(new URL(url).port), ca });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

/** Passes connections on and keeps a copy of what goes either way. */
async function recorder(scope: Scope, url: string): Promise<{ url: string; recorded: Buffer[] }> {
  const recorded: Buffer[] = [];
  const server = createServer((near) => {
    const far = connectTcp(Number(new URL(url).port), '127.0.0.1');
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      from.on('data', (chunk) => recorded.push(chunk));
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  });
  scope.defer(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `wss://127.0.0.1:${(server.address() as AddressInfo).port}`, recorded };
}

describe('a wss:// listener', () => {
  it('shows nothing of a session on the wire', async () => {
    await using server = await startTls(...issueInto('hidden'));
    await using scope = new Scope();
    const { url, recorded } = await recorder(scope, server.url);
    const marker = 'a marker that is easy to find';

    {
      await using client = await connect(url, { ca });
      const echo = await client.start({ argv: ['/bin/cat'], pipeStdin: true });
      await client.call('process/write', { processId: echo.id, chunk: base64(`${marker}\n`), writeId: 'w' });
      await echo.printed(`${marker}\n`);
    }

    const wire = Buffer.concat(recorded).toString('latin1');
    expect(wire.length).toBeGreaterThan(1000);
    expect(
      [marker, base64(marker).slice(0, -4), 'jsonrpc', 'process/', '/bin/cat', 'chunk', 'HTTP/1.1'].filter((text) =>
        wire.includes(text),
      ),
    ).toEqual([]);
  });

  it('takes another certificate on SIGHUP under 100 open sessions and a transfer', async () => {
    const flags = issueInto('swapped');
    await using server = await startTls(...flags);
    const before = await shownCertificate(server);
    const clients = await Promise.all(Array.from({ length: 100 }, () => connect(server.url, { ca })));
    const transfer = await clients[0]!.start({
      argv: ['/bin/sh', '-c', 'read go; head -c 20000000 /dev/urandom | tee /dev/stderr'],
      pipeStdin: true,
    });

    await clients[0]!.call('process/write', { processId: transfer.id, chunk: base64('\n'), writeId: 'go' });
    await transfer.until(() => transfer.notices.length > 0);
    issueInto('swapped');
    server.process.kill('SIGHUP');
    await server.logged('settings.reloaded');
    const after = await shownCertificate(server);
    const answers = await Promise.all(clients.map((client) => client.call('environment/status')));
    await transfer.closed();

    expect(after).not.toBe(before);
    expect(answers).toHaveLength(100);
    const [out, err] = [transfer.bytes('stdout'), transfer.bytes('stderr')].map((bytes) =>
      createHash('sha256').update(bytes).digest('hex'),
    );
    expect([out, transfer.bytes('stdout').length]).toEqual([err, 20_000_000]);
    for (const client of clients) client.cut();
  });

  it('keeps its certificate when the new one cannot be used', async () => {
    const flags = issueInto('kept');
    await using server = await startTls(...flags);
    const before = await shownCertificate(server);
    writeFileSync(flags[1]!, 'no certificate');

    server.process.kill('SIGHUP');
    const { error } = await server.lineOf('settings.not_reloaded');

    expect(error).toBe(`${flags[1]} contains no certificate in PEM form`);
    expect(await shownCertificate(server)).toBe(before);
  });

  it('closes connections that do not speak TLS, and serves the others', async () => {
    await using server = await startTls(...issueInto('plain'));
    const plain = connectTcp(Number(new URL(server.url).port), '127.0.0.1');
    plain.on('error', () => {}); // reset by the server
    plain.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');

    await once(plain.resume(), 'close');
    await using client = await connect(server.url, { ca });

    expect(await client.call('environment/status')).toBeDefined();
  });

  it.each(['CODEX_CA_CERTIFICATE', 'NODE_EXTRA_CA_CERTS'])(
    'serves the command line, which trusts the authority that %s names, and no other',
    async (variable) => {
      await using server = await startTls(...issueInto('run'));
      const command = ['run', '--connect', server.url, '--', '/bin/echo', 'hello'];

      expect(await runCommand(command, { [variable]: authority.file })).toMatchObject({
        code: 0,
        stdout: 'hello\n',
      });
      const { code, stderr } = await runCommand(command);
      expect([code, stderr]).toEqual([
        255,
        expect.stringMatching(
          /certificate; to trust it, name its file, or that of its authority, in NODE_EXTRA_CA_CERTS\n$/,
        ),
      ]);
    },
  );
});
