import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ExecServerClient, type ListedProcess } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { startServer } from '../../support/server.ts';

describe('process/list over all sessions', () => {
  it('tells a token with the scope admin whose each process is, and is refused to others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'list-all-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const secret = randomBytes(32).toString('hex');
    const file = join(folder, 'secret');
    writeFileSync(file, secret);
    await using server = await startServer({
      args: ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', file],
    });
    const connected = async (sub: string, ...scopes: string[]): Promise<ExecServerClient> => {
      const unsigned = new SignJWT({ sub, scopes }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('10m');
      const token = await unsigned.sign(Buffer.from(secret));
      return ExecServerClient.connect(webSocket(server.url, { token }));
    };
    await using ci = await connected('ci', 'run', 'view');
    await using dev = await connected('dev', 'run', 'view', 'admin');
    const start = { argv: ['sleep', '900'], env: { PATH: '/usr/bin:/bin' }, processId: 'same' };
    await using theirs = await ci.start(start);
    await using own = await dev.start(start);

    const all = await dev.processes({ all: true });

    const told = (each: ListedProcess) => [each.sessionId, each.tokenName, each.processId, each.pid, each.phase];
    expect(all.map(told)).toEqual([
      [ci.sessionId, 'jwt:ci', 'same', theirs.pid, 'running'],
      [dev.sessionId, 'jwt:dev', 'same', own.pid, 'running'],
    ]);
    expect((await dev.processes()).map(told)).toEqual([[undefined, undefined, 'same', own.pid, 'running']]);
    await expect(ci.processes({ all: true })).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'process/list of all sessions needs scope admin, which token jwt:ci does not have',
    });
  });
});
