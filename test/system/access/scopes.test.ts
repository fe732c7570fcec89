import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MethodName, methods, scopes } from '../../../src/protocol/index.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, connectBare, type WebSocketClient, type WireFailure } from '../../support/wire-client.ts';

const secret = randomBytes(32).toString('hex');
const folder = mkdtempSync(join(tmpdir(), 'scopes-'));
let server: TestServer;
beforeAll(async () => {
  const file = join(folder, 'secret');
  writeFileSync(file, secret);
  const args = ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', file];
  server = await startServer({ args, env: { EXEC_SERVER_LOG: 'info' } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** The header of a client whose token has these claims. */
async function bearer(claims: Readonly<Record<string, unknown>>): Promise<{ headers: Record<string, string> }> {
  const token = new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('10m');
  return { headers: { authorization: `Bearer ${await token.sign(Buffer.from(secret))}` } };
}

const names = (Object.keys(methods) as MethodName[]).filter((name) => name !== 'initialize');

/** The methods that the client is refused for want of a scope. */
async function refusedBy(client: WebSocketClient): Promise<string[]> {
  const errors = await Promise.all(
    names.map((name) =>
      client.call(name, {}).then(
        () => undefined,
        (error: WireFailure) => error,
      ),
    ),
  );
  return names.filter((_, index) => errors[index]?.code === -32012);
}

describe('a token', () => {
  it.each([...scopes.map((scope) => [scope]), []])(
    'with the scopes [%s] may call the methods of these and no other',
    async (...granted) => {
      await using client = await connect(server.url, await bearer({ sub: 'ci', scopes: granted }));

      const others = names.filter((name) => {
        const { scope } = methods[name];
        return scope !== 'any' && !(granted as string[]).includes(scope);
      });
      expect(await refusedBy(client)).toEqual(others);
      await expect(client.call('environment/status')).resolves.toMatchObject({});
    },
  );

  it('without a claim of scopes may call every method of the reference', async () => {
    await using client = await connect(server.url, await bearer({}));

    expect((await refusedBy(client)).filter((name) => methods[name as MethodName].capability === undefined)).toEqual(
      [],
    );
  });

  it('is told which scope a method needs, and its own name', async () => {
    await using client = await connect(server.url, await bearer({ sub: 'ci', scope: 'view' }));

    await expect(client.call('process/start', {})).rejects.toThrow(
      'process/start needs scope run, which token jwt:ci does not have',
    );
  });

  it('of another name cannot resume a session, nor find out that it exists', async () => {
    await using owner = await connectBare(server.url, await bearer({ sub: 'one' }));
    const attached = await owner.initialize();
    const gone = await connectBare(server.url, await bearer({ sub: 'one' }));
    const detached = await gone.initialize();
    gone.cut();
    await gone.closed;
    const unknown = '00000000-0000-4000-8000-000000000000';

    const answers = [attached, detached, unknown].map(async (resumeSessionId) => {
      await using other = await connectBare(server.url, await bearer({ sub: 'two' }));
      const answer = await other.initialize({ resumeSessionId }).catch((error: WireFailure) => error);
      return answer instanceof Error ? [answer.code, answer.message.replace(resumeSessionId, 'ID')] : answer;
    });

    expect(await Promise.all(answers)).toEqual(Array(3).fill([-32600, 'unknown session id ID']));
    await using again = await connectBare(server.url, await bearer({ sub: 'one' }));
    expect(await again.initialize({ resumeSessionId: detached })).toBe(detached);
  });

  it('is named in the log when its login is accepted; a refused one has its reason there', async () => {
    await using _client = await connect(server.url, await bearer({ sub: 'logged' }));
    expect(await server.lineOf('login.accepted')).toMatchObject({ tokenName: 'jwt:logged' });

    await expect(connectBare(server.url, { headers: { authorization: 'Bearer forged' } })).rejects.toThrow('401');
    expect(await server.lineOf('login.refused')).toMatchObject({
      reason: 'invalid websocket jwt',
      peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    });
  });
});
