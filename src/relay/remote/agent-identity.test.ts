import { generateKeyPairSync, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentIdentity } from './agent-identity.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const agent_private_key = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
const never = new AbortController().signal;

const tokenWith = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify({ agent_runtime_id: 'rt-1', agent_private_key, account_id: 'acct', ...claims })).toString('base64url')}.c2ln`;

const signedBy = (signature: string, content: string): boolean =>
  verify(null, Buffer.from(content), publicKey, Buffer.from(signature, 'base64'));

let answers: { status: number; body: object }[];
let tasks: { url: string | undefined; body: { timestamp: string; signature: string } }[];
const accounts = createServer(async (request: IncomingMessage, response) => {
  tasks.push({ url: request.url, body: JSON.parse(await text(request)) });
  const { status, body } = answers.shift() ?? { status: 200, body: { task_id: 'task-7' } };
  response.writeHead(status).end(JSON.stringify(body));
});
const accountsUrl = (): string => `http://127.0.0.1:${(accounts.address() as AddressInfo).port}/accounts`;

beforeEach(async () => {
  answers = [];
  tasks = [];
  accounts.listen(0, '127.0.0.1');
  await once(accounts, 'listening');
});
afterEach(async () => {
  accounts.closeAllConnections();
  await new Promise((resolve) => accounts.close(resolve));
});

describe('an agent identity', () => {
  it('registers a task once and signs every request for it', async () => {
    const credentials = agentIdentity(tokenWith({}), { accountsUrl: accountsUrl() });
    const { authorization = '', ...others } = await credentials.headers(never);
    await credentials.headers(never);

    expect(tasks.map(({ url }) => url)).toEqual(['/accounts/v1/agent/rt-1/task/register']);
    const { timestamp, signature } = tasks[0]!.body;
    expect(signedBy(signature, `rt-1:${timestamp}`)).toBe(true);
    expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const [, envelope = ''] = /^AgentAssertion (\S+)$/.exec(authorization) ?? [];
    const assertion = JSON.parse(Buffer.from(envelope, 'base64url').toString()) as Record<string, string>;
    expect(Object.keys(assertion)).toEqual(['agent_runtime_id', 'signature', 'task_id', 'timestamp']);
    expect(signedBy(assertion.signature!, `rt-1:task-7:${assertion.timestamp}`)).toBe(true);
    expect(others).toEqual({ 'chatgpt-account-id': 'acct' });
  });

  it('marks the requests of a FedRAMP account', async () => {
    const credentials = agentIdentity(tokenWith({ chatgpt_account_is_fedramp: true }), { accountsUrl: accountsUrl() });

    expect(await credentials.headers(never)).toMatchObject({ 'x-openai-fedramp': 'true' });
  });

  it('tries to register its task again with the next request', async () => {
    answers = [
      { status: 503, body: {} },
      { status: 200, body: { encrypted_task_id: 'x' } },
    ];
    const credentials = agentIdentity(tokenWith({}), { accountsUrl: accountsUrl() });

    await expect(credentials.headers(never)).rejects.toThrow('failed to register agent task (503)');
    await expect(credentials.headers(never)).rejects.toThrow(/encrypted ones are not supported/);
    expect(await credentials.headers(never)).toHaveProperty('authorization');
  });

  it.each(['foo', 'a.b.c', tokenWith({ agent_private_key: 'AAAA' }), tokenWith({ account_id: 1 })])(
    'is refused when the token is %.30s',
    (token) => {
      expect(() => agentIdentity(token)).toThrow(
        new Error('CODEX_ACCESS_TOKEN did not provide Agent Identity authentication'),
      );
    },
  );
});
