import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ExecServerClient } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { appeared, gone, uniqueSeconds } from '../../support/proc.ts';
import type { TestServer } from '../../support/server.ts';
import { TestAuthority } from '../../support/test-authority.ts';
import { type ConnectOptions, connect, connectBare, resume, type WireFailure } from '../../support/wire-client.ts';
import { bearer, reload, TokenFixture } from './fixture.ts';

/** How each listener is started and reached. */
const listeners = {
  ws: () => ({ args: [], options: {} }),
  wss: (fixture: TokenFixture) => {
    const authority = fixture.own(new TestAuthority());
    const { cert, key } = authority.issue('IP:127.0.0.1');
    const files = ['--tls-cert', authority.write('server.pem', cert), '--tls-key', authority.write('server.key', key)];
    return { args: ['--listen', 'wss://127.0.0.1:0', ...files], options: { ca: readFileSync(authority.file, 'utf8') } };
  },
  unix: (fixture: TokenFixture) => ({ args: ['--listen', `unix:${join(fixture.folder, 'socket')}`], options: {} }),
};

/** The status and reason with which a client is turned away; undefined if it is served. */
async function turnedAway(server: TestServer, options: ConnectOptions): Promise<unknown> {
  const refused = server.nextLine('login.refused');
  const answer = await connectBare(server.url, options).catch((error: Error) => error);
  if (!(answer instanceof Error)) return void answer.cut();
  return [answer.message, (await refused).reason];
}

describe.each(Object.entries(listeners))('on %s a token', (_, start) => {
  it('that is forged, expired, revoked, foreign or missing is refused', async () => {
    using fixture = new TokenFixture();
    using elsewhere = new TokenFixture();
    const good = await fixture.add('good', 'run');
    const revoked = await fixture.add('revoked', 'run');
    const executor = await fixture.add('executor', 'executor,harness', '--environments', '*');
    const foreign = await elsewhere.add('good', 'run');
    fixture.enter({ name: 'expired', scopes: ['run'], expires: '2020-01-01T00:00:00Z' }, 'expired');
    const { args, options } = start(fixture);
    await using server = await fixture.server({ args });
    const reasonFor = (token: string) => turnedAway(server, { ...options, ...bearer(token) });

    expect(await reasonFor(revoked)).toBeUndefined();
    await fixture.revoke('revoked');
    await reload(server);

    const refused = ['Unexpected server response: 401', 'invalid websocket bearer token'];
    expect(await reasonFor(revoked)).toEqual(refused);
    expect(await reasonFor(foreign)).toEqual(refused);
    expect(await reasonFor(`${good}x`)).toEqual(refused);
    expect(await reasonFor(createHash('sha256').update(good).digest('hex'))).toEqual(refused);
    expect(await reasonFor('expired')).toEqual([refused[0], 'expired websocket bearer token']);
    expect(await reasonFor(executor)).toEqual([refused[0], 'this token is for a rendezvous']);
    expect(await turnedAway(server, options)).toEqual([refused[0], 'missing websocket bearer token']);
    expect(await reasonFor(good)).toBeUndefined();
  });

  it('that is revoked loses its connection and its session, whose processes end', async () => {
    using fixture = new TokenFixture();
    const [leaked, other] = [await fixture.add('leaked', 'run'), await fixture.add('other', 'run')];
    const { args, options } = start(fixture);
    await using server = await fixture.server({ args });
    await using bystander = await connect(server.url, { ...options, ...bearer(other) });
    await using client = await connectBare(server.url, { ...options, ...bearer(leaked) });
    const sessionId = await client.initialize();
    const seconds = uniqueSeconds();
    await client.start({ argv: ['sleep', seconds] });
    const [pid] = await appeared(seconds);

    await fixture.revoke('leaked');
    await reload(server);

    expect(await client.closed).toBe(1008);
    await gone(pid!);
    expect(await server.lineOf('login.ended')).toMatchObject({ tokenName: 'leaked', reason: 'the token was revoked' });
    await expect(resume(server.url, sessionId, { ...options, ...bearer(other) })).rejects.toThrow('unknown session id');
    await expect(bystander.call('environment/status')).resolves.toBeDefined();
  });
});

describe('a token', () => {
  it('that is revoked while its session has no connection takes the session along', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('gone', 'run');
    await using server = await fixture.server();
    const client = await connectBare(server.url, bearer(secret));
    await client.initialize();
    const seconds = uniqueSeconds();
    await client.start({ argv: ['sleep', seconds] });
    const [pid] = await appeared(seconds);
    client.cut();
    await client.closed;

    await fixture.revoke('gone');
    await reload(server);

    await gone(pid!);
  });

  it('that expires loses its connection; the session is for a token of the same name', async () => {
    using fixture = new TokenFixture();
    const [brief, other] = [await fixture.add('brief', 'run', '--expires', '2s'), await fixture.add('other', 'run')];
    await using server = await fixture.server();
    await using client = await connectBare(server.url, bearer(brief));
    const sessionId = await client.initialize();
    const process = await client.start({ processId: 'kept', argv: ['cat'], pipeStdin: true });

    expect(await client.closed).toBe(1008);
    expect(await server.lineOf('login.ended')).toMatchObject({ reason: 'the token has expired' });
    await expect(connectBare(server.url, bearer(brief))).rejects.toThrow('401');

    const renewed = await fixture.add('brief', 'run,view', '--replace');
    await reload(server);
    await expect(resume(server.url, sessionId, bearer(other))).rejects.toThrow(`unknown session id ${sessionId}`);
    await using again = await resume(server.url, sessionId, bearer(renewed));
    expect(await again.call('process/list')).toMatchObject({ processes: [{ processId: process.id }] });
  });

  it('that loses a scope loses it on the connection that is open', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run,view');
    await using server = await fixture.server();
    await using client = await connect(server.url, bearer(secret));
    await client.start({ argv: ['true'] });

    fixture.change('ci', { scopes: ['view'] });
    await reload(server);

    await expect(client.start({ argv: ['true'] })).rejects.toMatchObject({ code: -32012 });
    await expect(client.call('process/list')).resolves.toBeDefined();
    fixture.change('ci', { expires: '2020-01-01T00:00:00Z' });
    await reload(server);
    expect(await client.closed).toBe(1008);
  });

  it('whose secret was replaced is cut off; what it left is resumed with the new one', async () => {
    using fixture = new TokenFixture();
    const first = await fixture.add('ci', 'run');
    await using server = await fixture.server();
    const client = await connectBare(server.url, bearer(first));
    const sessionId = await client.initialize();

    const second = await fixture.add('ci', 'run', '--replace');
    await reload(server);

    expect(await client.closed).toBe(1008);
    await using again = await resume(server.url, sessionId, bearer(second));
    expect(again).toBeDefined();
  });

  it('that was revoked ends our client with the reason, at once', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run');
    await using server = await fixture.server();
    await using client = await ExecServerClient.connect(webSocket(server.url, { token: secret }), {
      clientName: 'test',
    });
    const process = await client.start({ argv: ['cat'], pipeStdin: true });

    await fixture.revoke('ci');
    await reload(server);

    await expect(process.wait()).rejects.toThrow('the server closed the connection: the token was revoked');
    await expect(client.start({ argv: ['true'] })).rejects.toThrow('the token was revoked');
  });
});

describe('a file of tokens that cannot be read again', () => {
  it.each<[string, (file: string) => void, string]>([
    ['is no JSON', (file) => writeFileSync(file, '{'), 'cannot use FILE: '],
    ['is gone', (file) => rmSync(file), 'cannot use FILE: there is no such file'],
    [
      'has another shape',
      (file) => writeFileSync(file, '{"tokens":[{"name":"x","sha256":1}]}'),
      'cannot use FILE: tokens[0]: "sha256" is not 64 hex digits',
    ],
  ])('since it %s leaves the tokens as they were, and is named in the log', async (_, spoil, reason) => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run');
    await using server = await fixture.server();
    await using client = await connect(server.url, bearer(secret));

    spoil(fixture.file);
    server.process.kill('SIGHUP');
    const line = await server.lineOf('tokens.not_reloaded');

    expect(line).toMatchObject({
      level: 'error',
      error: expect.stringContaining(reason.replace('FILE', fixture.file)),
    });
    await client.start({ argv: ['true'] });
    await using another = await connect(server.url, bearer(secret));
    expect(another).toBeDefined();
  });

  it('is no reason to keep a revoked token: settings that cannot be read do not matter', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run');
    const settings = join(fixture.folder, 'settings.toml');
    writeFileSync(settings, 'max_connections = 5');
    await using server = await fixture.server({ args: ['--config', settings] });
    await using client = await connect(server.url, bearer(secret));

    writeFileSync(settings, 'max_connections = many');
    await fixture.revoke('ci');
    await reload(server);

    expect(await client.closed).toBe(1008);
    expect(await server.lineOf('settings.not_reloaded')).toMatchObject({ level: 'error' });
  });
});

describe('the limits of a token', () => {
  it('hold for all its sessions together, and for no other token', async () => {
    using fixture = new TokenFixture();
    const [small, other] = [
      await fixture.add('small', 'run,view', '--sessions', '2', '--processes', '2'),
      await fixture.add('other', 'run'),
    ];
    await using server = await fixture.server();
    await using one = await connect(server.url, bearer(small));
    const two = await connect(server.url, bearer(small));
    await using three = await connectBare(server.url, bearer(small));
    const tooMany = { code: -32012, message: expect.stringContaining('token small may have 2 sessions at a time') };

    await expect(three.initialize()).rejects.toMatchObject(tooMany);
    const first = await one.start({ argv: ['cat'], pipeStdin: true });
    await two.start({ argv: ['cat'], pipeStdin: true });
    for (const client of [one, two]) {
      await expect(client.start({ argv: ['true'] })).rejects.toThrow('token small may have 2 processes at a time');
    }
    await using stranger = await connect(server.url, bearer(other));
    await stranger.start({ argv: ['true'] });

    await one.call('process/terminate', { processId: first.id });
    await first.closed();
    await (await one.start({ argv: ['true'] })).closed();
    two.cut();
    await two.closed;
    await expect(three.initialize()).rejects.toMatchObject(tooMany); // it can be resumed yet
  });

  it('of sessions make room when a session ends', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('one', 'run', '--sessions', '1');
    await using server = await fixture.server({ args: ['--detached-session-ttl-ms', '0'] });
    const first = await connect(server.url, bearer(secret));
    await using second = await connectBare(server.url, bearer(secret));
    await expect(second.initialize()).rejects.toThrow('token one may have 1 session');

    first.cut();
    await first.closed;

    await expect.poll(() => second.initialize().catch((error: WireFailure) => error.code)).toMatch(/^[0-9a-f-]{36}$/);
  });
});
