import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Outgoing } from '../../host/http/index.ts';
import { generateRelayKeys, publicKeyObject } from '../index.ts';
import { bearerToken } from './credentials.ts';
import { RegistryClient } from './registry-client.ts';

const key = publicKeyObject(generateRelayKeys());
const never = new AbortController().signal;
const bundle = {
  environment_id: 'env',
  url: 'ws://127.0.0.1/ws',
  security_profile: 'noise_hybrid_ik_v1',
  executor_registration_id: 'r1',
  executor_public_key: key,
  harness_key_authorization: 'secret',
};

let answer: { status: number; body: string };
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(answer.status).end(answer.body);
});
const client = (): RegistryClient => {
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return new RegistryClient(url, 'env', bearerToken('t'), Outgoing.direct);
};

beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('asking a registry for a connection', () => {
  it('gives everything that one connection takes', async () => {
    answer = { status: 200, body: JSON.stringify(bundle) };

    expect(await client().connect(key, never)).toEqual({
      url: 'ws://127.0.0.1/ws',
      registrationId: 'r1',
      executorKey: key,
      authorization: 'secret',
    });
  });

  it.each([
    [{ url: ' ' }, 'it lacks a websocket URL'],
    [{ url: 'http://127.0.0.1/' }, 'it lacks a websocket URL'],
    [{ executor_registration_id: '' }, 'it lacks the registration id'],
    [{ harness_key_authorization: ' ' }, 'it lacks the harness key authorization'],
    [{ harness_key_authorization: 'ä'.repeat(2049) }, 'it lacks the harness key authorization'],
    [{ executor_public_key: { ...key, extra: 1 } }, 'the executor key is invalid: key has an unknown member "extra"'],
    [{ padding: 'x'.repeat(70_000) }, 'it is not a JSON object'],
  ])('refuses an answer with %.60j', async (change, reason) => {
    answer = { status: 200, body: JSON.stringify({ ...bundle, ...change }) };

    await expect(client().connect(key, never)).rejects.toThrow(
      `environment registry sent an invalid answer: ${reason}`,
    );
  });
});

describe('asking a registry whether it vouches for a harness', () => {
  const proof = { registrationId: 'r1', harnessKey: key, authorization: 'secret', streamId: 's1' };

  it.each([
    ['{"valid":true}', {}],
    ['{"valid":true,"harness":null}', {}],
    ['{"valid":true,"harness":{"token":"ci","scopes":["run"]}}', { token: 'ci', scopes: ['run'] }],
    ['{"valid":false}', false],
    ['{"valid":"true"}', false],
    ['{}', false],
  ])('takes %s for %s', async (body, valid) => {
    answer = { status: 200, body };

    expect(await client().validate(proof, never)).toEqual(valid);
  });

  it('does not show the text of the registry when it does not', async () => {
    answer = { status: 403, body: '{"error":{"code":"secret","message":"secret"}}' };

    await expect(client().validate(proof, never)).rejects.toThrow(
      /^environment registry authentication failed \(403 Forbidden\) at http:\/\/127\.0\.0\.1:\d+\/cloud\/environment\/env\/validate$/,
    );
  });
});
