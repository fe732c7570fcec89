import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { text } from '../../support/wire-client.ts';
import { refusal } from '../files/fixture.ts';
import { accounts, path, readOnly, restrictedRead, SandboxFixture, special, uri, workspaceWrite } from './fixture.ts';

const token = 'a-token-that-no-command-may-see';

describe.each(accounts)('the secrets of a server run by $name', (account) => {
  let fixture: SandboxFixture;
  let folder: string;
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync('/var/tmp/exec-server-secrets-'));
    mkdirSync(join(folder, 'keys'));
    mkdirSync(join(folder, 'state/exec-server/mount-points'), { recursive: true });
    writeFileSync(join(folder, 'keys/token'), token);
    writeFileSync(join(folder, 'state/exec-server/note'), token);
    symlinkSync(join(folder, 'keys/token'), join(folder, 'link'));
    const all = [
      '',
      'keys',
      'keys/token',
      'state',
      'state/exec-server',
      'state/exec-server/mount-points',
      'state/exec-server/note',
    ];
    for (const name of all) chownSync(join(folder, name), account.uid, account.gid);
    fixture = await SandboxFixture.open(
      account,
      { XDG_STATE_HOME: join(folder, 'state') },
      {
        args: ['--ws-auth', 'capability-token', '--ws-token-file', join(folder, 'keys/token')],
        headers: { authorization: `Bearer ${token}` },
      },
    );
  });
  beforeEach(() => fixture.reset());
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const views = () => [
    readOnly,
    workspaceWrite,
    [...restrictedRead, path(folder, 'read')],
    [...readOnly, path(folder, 'write')],
    [...readOnly, path(join(folder, 'keys/token'), 'write'), path(join(folder, 'state/exec-server'), 'write')],
    [special('root', 'write'), path('/usr', 'read')],
  ];
  const secrets = ['keys/token', 'link', 'state/exec-server/note'];

  it('are masked in every view of a command', async () => {
    for (const entries of views()) {
      for (const name of secrets) {
        const outcome = await fixture.run(
          `cat ${join(folder, name)}; mv ${folder}/keys ${folder}/moved; echo x > ${join(folder, name)}`,
          { entries },
        );
        expect(outcome.stdout).toBe('');
        expect(outcome.exitCode).not.toBe(0);
      }
    }
  });

  it('are refused to sandboxed file calls', async () => {
    for (const entries of views()) {
      const permissions = { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' };
      const sandbox = { permissions, cwd: uri(fixture.workspace), workspaceRoots: [uri(fixture.workspace)] };
      for (const name of secrets) {
        const params = { path: uri(join(folder, name)), sandbox };
        expect((await refusal(fixture.client.call('fs/readFile', params))).code).not.toBe(0);
        expect((await refusal(fixture.client.call('fs/open', { ...params, handleId: 'h' }))).code).not.toBe(0);
      }
      const inside = { path: uri(join(folder, 'state/exec-server')), sandbox };
      expect((await refusal(fixture.client.call('fs/readDirectory', inside))).code).not.toBe(0);
    }
  });

  it('are refused where a link that names one leads, also after it was changed', async () => {
    const [first, second, link] = ['first', 'second', 'current'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const file of [first, second]) {
      writeFileSync(file, token);
      chownSync(file, account.uid, account.gid);
    }
    symlinkSync(first, link);
    await using server = await SandboxFixture.open(
      account,
      {},
      {
        args: ['--ws-auth', 'capability-token', '--ws-token-file', link],
        headers: { authorization: `Bearer ${token}` },
      },
    );
    const permissions = {
      type: 'managed',
      file_system: { type: 'restricted', entries: readOnly },
      network: 'restricted',
    };
    const read = (at: string) =>
      server.client.call('fs/readFile', { path: uri(at), sandbox: { permissions, cwd: uri(server.workspace) } });
    await refusal(read(link));
    symlinkSync(second, `${link}.new`);
    renameSync(`${link}.new`, link);

    expect((await refusal(read(link))).code).not.toBe(0);
    expect((await refusal(read(second))).code).not.toBe(0);
  });

  it('hide nothing beside them', async () => {
    const permissions = {
      type: 'managed',
      file_system: { type: 'restricted', entries: readOnly },
      network: 'restricted',
    };
    const params = { path: uri(fixture.at('outside/secret')), sandbox: { permissions, cwd: uri(fixture.workspace) } };
    expect(text((await fixture.client.call<{ dataBase64: string }>('fs/readFile', params)).dataBase64)).toBe(
      'secret\n',
    );
    expect(await fixture.run(`ls ${folder}/state`, { entries: readOnly })).toMatchObject({ stdout: 'exec-server\n' });
  });
});
