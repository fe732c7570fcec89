import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { serverProgram, startServer } from '../../support/server.ts';
import { startRendezvous } from '../rendezvous/fixture.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';

const account = accounts.at(-1)!;
const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));
const TOKEN = 'a-token-for-the-listeners';

describe('a command in a sandbox with network is refused', () => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  /** The first line of the answer to a request, from inside and from here. */
  async function statuses(url: string, request: readonly string[]): Promise<readonly [inside: string, here: string]> {
    const { hostname, port } = new URL(url.replace(/^ws/, 'http'));
    const text = [...request, 'Host: localhost', '', ''].join('\\r\\n');
    const script = `exec 3<>/dev/tcp/${hostname.replace(/[[\]]/g, '')}/${port}; printf '${text}' >&3; head -n 1 <&3`;
    const { stdout } = await fixture.run(script, { network: 'enabled' });
    const here = spawn('/bin/bash', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface({ input: here.stdout }), 'line')) as [string];
    return [stdout.trim(), line.trim()];
  }

  const upgrade = [
    'GET / HTTP/1.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];

  it('by the HTTP listener of mcp, also with its token', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'exec-server-peers-'));
    writeFileSync(join(folder, 'token'), TOKEN);
    const args = ['mcp', '--cwd', folder, '--http', '127.0.0.1:0', '--http-token-file', join(folder, 'token')];
    const mcp = spawn(process.execPath, [serverProgram, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: '/usr/bin:/bin', HOME: folder, EXEC_SERVER_HOME: folder },
    });
    const [url] = (await once(createInterface({ input: mcp.stdout }), 'line')) as [string];

    const answers = await statuses(url, ['GET /elsewhere HTTP/1.1', `Authorization: Bearer ${TOKEN}`]);

    expect(answers).toEqual(['HTTP/1.1 403 Forbidden', 'HTTP/1.1 404 Not Found']);
    mcp.kill();
    await once(mcp, 'exit');
    rmSync(folder, { recursive: true });
  });

  it('by a rendezvous, also with a token of it, whether it asks or opens a socket', async () => {
    await using rendezvous = await startRendezvous();
    const { admin } = rendezvous.tokens;

    const asked = await statuses(rendezvous.url, ['GET /elsewhere HTTP/1.1', `Authorization: Bearer ${admin}`]);
    const opened = await statuses(rendezvous.url, upgrade);

    expect(asked).toEqual(['HTTP/1.1 403 Forbidden', 'HTTP/1.1 404 Not Found']);
    expect(opened[0]).toBe('HTTP/1.1 403 Forbidden');
    expect(opened[1]).not.toBe('HTTP/1.1 403 Forbidden');
  });

  async function expectRefusedBy(listen: string): Promise<void> {
    const auth = ['--ws-auth', 'capability-token', '--ws-token-file'];
    const folder = mkdtempSync(join(tmpdir(), 'exec-server-peers-'));
    writeFileSync(join(folder, 'token'), TOKEN);
    await using server = await startServer({ args: ['--listen', listen, ...auth, join(folder, 'token')] });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');

    const answers = await statuses(url, [...upgrade, `Authorization: Bearer ${TOKEN}`]);

    expect(answers).toEqual(['HTTP/1.1 403 Forbidden', 'HTTP/1.1 101 Switching Protocols']);
    rmSync(folder, { recursive: true });
  }

  it.each([
    ['another address of loopback', 'ws://127.0.0.2:0'],
    ['every address, by IPv4', 'ws://0.0.0.0:0'],
  ])('by the port of agents on %s', (_name, listen) => expectRefusedBy(listen));

  it.skipIf(!hasIpv6)('by the port of agents on IPv6 (needs ::1)', () => expectRefusedBy('ws://[::1]:0'));
});

it('a listener on other addresses serves its own user', async () => {
  await using server = await startServer({ args: ['--listen', 'ws://127.0.0.2:0'] });

  expect(await runCommand(['run', '--connect', server.url, '--', 'echo', 'served'])).toMatchObject({
    stdout: 'served\n',
  });
});
