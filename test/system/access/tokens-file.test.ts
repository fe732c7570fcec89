import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand, StdioServer } from '../../support/command.ts';
import { connect } from '../../support/wire-client.ts';
import { special } from '../sandbox/fixture.ts';
import { bearer, reload, TokenFixture } from './fixture.ts';

describe('a server', () => {
  it.each<[string, (file: string) => string, string]>([
    [
      'others can read it',
      (file) => {
        chmodSync(file, 0o644);
        return file;
      },
      'others can read or change it (mode 0644); fix: chmod 600 ',
    ],
    [
      'it is a link',
      (file) => {
        symlinkSync(file, `${file}.link`);
        return `${file}.link`;
      },
      'it is a symbolic link; name the file that it leads to',
    ],
    ['it is missing', (file) => `${file}.missing`, 'there is no such file; `exec-server token add` makes it'],
    [
      'it is no JSON',
      (file) => {
        writeFileSync(file, '{');
        return file;
      },
      'JSON',
    ],
  ])('does not start with a file of tokens when %s', async (_, spoil, reason) => {
    using fixture = new TokenFixture();
    await fixture.add('ci', 'run');
    const file = spoil(fixture.file);

    const { code, stdout, stderr } = await runCommand(['--tokens-file', file]);

    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`Error: cannot use ${file}: `);
    expect(stderr).toContain(reason);
  });

  it.each([
    ['--listen stdio', ['--listen', 'stdio']],
    ['--remote', ['--remote', 'http://127.0.0.1:1', '--environment-id', 'box']],
  ])('has no use for the flag with %s', async (name, args) => {
    using fixture = new TokenFixture();
    await fixture.add('ci', 'run');
    const { code, stderr } = await runCommand([...args, '--tokens-file', fixture.file]);

    expect([code, stderr]).toEqual([2, expect.stringContaining(`--tokens-file cannot be used together with ${name}`)]);
  });

  it('listens beyond loopback with tokens, and not without', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run');
    const refused = await runCommand(['--listen', 'ws://0.0.0.0:0']);
    await using server = await fixture.server({ args: ['--listen', 'ws://0.0.0.0:0'] });
    await using client = await connect(server.url.replace('0.0.0.0', '127.0.0.1'), bearer(secret));

    expect(refused.stderr).toContain('refusing to listen on 0.0.0.0 without authentication');
    expect(refused.stderr).toContain('use --tokens-file or --ws-auth');
    await client.start({ argv: ['true'] });
  });

  it('shows its metrics beyond loopback to tokens with the scope view, as they are now', async () => {
    using fixture = new TokenFixture();
    const [viewer, runner] = [await fixture.add('viewer', 'view'), await fixture.add('runner', 'run')];
    fixture.enter({ name: 'expired', scopes: ['view'], expires: '2020-01-01T00:00:00Z' }, 'expired');
    await using server = await fixture.server({ args: ['--ops-listen', 'http://0.0.0.0:0'] });
    const { url } = (await server.lineOf('ops.listening')) as { url: string };
    const metrics = `${url.replace('0.0.0.0', '127.0.0.1')}/metrics`;
    const status = async (token?: string) => (await fetch(metrics, token === undefined ? {} : bearer(token))).status;

    expect([await status(viewer), await status(runner)]).toEqual([200, 403]);
    expect([await status('forged'), await status('expired'), await status()]).toEqual([401, 401, 401]);
    await fixture.revoke('viewer');
    await reload(server);
    expect(await status(viewer)).toBe(401);
  });

  it('does not take another file on SIGHUP, and says so', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run');
    const settings = join(fixture.folder, 'settings.toml');
    writeFileSync(settings, `tokens_file = "${fixture.file}"`);
    await using server = await fixture.server({ args: ['--config', settings], named: false });

    writeFileSync(settings, '');
    server.process.kill('SIGHUP');

    const { error } = await server.lineOf('settings.not_reloaded');
    expect(error).toBe(`tokens_file was ${fixture.file} and is not set: start the server again for that`);
    await using client = await connect(server.url, bearer(secret));
    await expect(connect(server.url)).rejects.toThrow('401');
    await client.start({ argv: ['true'] });
  });

  it('shows the file to no sandboxed command and no sandboxed file call, however it is named', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run,files');
    const settings = join(fixture.folder, 'settings.toml');
    writeFileSync(settings, `tokens_file = "${fixture.file}"`);
    await using server = await fixture.server({ args: ['--config', settings], named: false });
    await using client = await connect(server.url, bearer(secret));
    const entries = [special('root', 'read'), special('project_roots', 'write')];
    const permissions = { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' };
    const sandbox = { permissions, cwd: `file://${fixture.folder}` };

    const cat = await client.start({ argv: ['cat', fixture.file], sandbox });

    await cat.closed();
    expect(cat.output()).not.toContain('sha256');
    await expect(client.call('fs/readFile', { path: `file://${fixture.file}`, sandbox })).rejects.toThrow();
    await expect(client.call('fs/readFile', { path: `file://${settings}`, sandbox })).resolves.toBeDefined();
  });

  it('drops a revoked client that neither answers nor reads, and refuses what it still sends', async () => {
    using fixture = new TokenFixture();
    const secret = await fixture.add('ci', 'run');
    await using server = await fixture.server();
    const socket = connectTcp(Number(new URL(server.url).port), '127.0.0.1');
    const lines = [
      'GET / HTTP/1.1',
      'host: x',
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
    ];
    const head = [...lines, 'sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==', `authorization: Bearer ${secret}`, '', ''];
    socket.write(head.join('\r\n'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();

    await fixture.revoke('ci');
    await reload(server);
    await server.logged('login.ended');
    const ended = new Promise((resolve) => socket.once('close', resolve).once('error', resolve));
    socket.resume();

    await ended;
  });
});

describe('stdio', () => {
  it('asks for no token, and warns where the settings name a file of them', async () => {
    using fixture = new TokenFixture();
    await fixture.add('ci', 'run');
    const settings = join(fixture.folder, 'settings.toml');
    writeFileSync(settings, `tokens_file = "${fixture.file}"`);
    const server = new StdioServer(['--config', settings]);
    await server.initialize();
    await server.start({ argv: ['true'] });

    await server.end();
    expect(await server.stderr).toContain('"event":"tokens.not_used"');
  });
});
