import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { base64, text } from '../../support/wire-client.ts';
import { refusal } from '../files/fixture.ts';
import { accounts, readOnly, SandboxFixture, uri } from './fixture.ts';

const [account] = accounts;
const noTemporary = { exclude_slash_tmp: true, exclude_tmpdir_env_var: true };

describe('sandboxes in the words of older clients', () => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account!);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const inside = (name: string) => {
    const place = fixture.at(name);
    if (!place.startsWith(fixture.at(''))) throw new Error(`${place} is not in the fixture`);
    return uri(place);
  };
  const write = (name: string, more: object) =>
    fixture.client.call('fs/writeFile', { path: inside(name), dataBase64: base64('x'), ...more });
  const read = async (name: string, more: object) => {
    const params = { path: inside(name), ...more };
    return text((await fixture.client.call<{ dataBase64: string }>('fs/readFile', params)).dataBase64);
  };
  const readOnlyDisk = { code: -32603, message: 'Read-only file system (os error 30)' };

  describe('beside the path of a file call', () => {
    it('hold for everything that writes', async () => {
      const held = { sandboxPolicy: { type: 'read-only' } };
      expect(await refusal(write('outside/new', held))).toEqual(readOnlyDisk);
      for (const [method, params] of [
        ['fs/createDirectory', { path: inside('outside/made') }],
        ['fs/remove', { path: inside('outside/secret') }],
        [
          'fs/copy',
          { sourcePath: inside('outside/secret'), destinationPath: inside('outside/copy'), recursive: false },
        ],
        ['fs/rename', { sourcePath: inside('outside/secret'), destinationPath: inside('workspace/away') }],
        ['fs/open', { handleId: 'h', path: inside('outside/opened'), mode: 'replace' }],
      ] as const) {
        expect(await refusal(fixture.client.call(method, { ...params, ...held }))).toEqual(readOnlyDisk);
      }
      expect(readFileSync(fixture.at('outside/secret'), 'utf8')).toBe('secret\n');
    });

    it('open what they name as writable', async () => {
      const held = { sandboxPolicy: { type: 'workspace-write', writable_roots: [fixture.workspace], ...noTemporary } };
      await write('workspace/new', held);
      expect(await refusal(write('outside/new', held))).toEqual(readOnlyDisk);
    });

    it('are refused together with one of today', async () => {
      const both = { sandboxPolicy: { type: 'read-only' }, sandbox: { permissions: { type: 'disabled' } } };
      expect(await refusal(write('workspace/new', both))).toMatchObject({ code: -32602 });
      const within = { sandbox: { sandboxPolicy: { type: 'read-only' }, permissions: { type: 'disabled' } } };
      expect(await refusal(write('workspace/new', within))).toMatchObject({ code: -32602 });
      expect(existsSync(fixture.at('workspace/new'))).toBe(false);
    });
  });

  describe('that are not defined', () => {
    it.each(['sandboxProfile', 'sandbox_policy', 'sandboxMode', 'SandboxPolicy'])('are refused: %s', async (name) => {
      const refused = { code: -32602, message: expect.stringContaining(`unknown field \`${name}\``) };
      const value = { [name]: { type: 'read-only' } };
      expect(await refusal(write('workspace/new', value))).toEqual(refused);
      const sandbox = { permissions: { type: 'disabled' }, ...value };
      expect(await refusal(write('workspace/new', { sandbox }))).toEqual(refused);
      const started = fixture.client.call('process/start', {
        processId: 'p',
        argv: ['/bin/true'],
        cwd: uri('/'),
        env: {},
        tty: false,
        ...value,
      });
      expect(await refusal(started)).toEqual(refused);
      expect(await refusal(fixture.client.call('process/list', value))).toEqual(refused);
      expect(existsSync(fixture.at('workspace/new'))).toBe(false);
    });

    it('are refused inside a prepared request and inside a profile', async () => {
      const refused = { code: -32602, message: expect.stringContaining('unknown field `sandbox') };
      const request = { argv: ['/bin/true'], cwd: uri('/'), env: { sandbox_x: '1' }, sandbox: {} };
      const start = { processId: 'p', mode: 'prepared', tty: false };
      expect(await refusal(fixture.client.call('process/start', { ...start, request }))).toEqual(refused);
      const file_system = { type: 'restricted', entries: readOnly, sandboxed: true };
      const permissions = { type: 'managed', file_system, network: 'restricted' };
      expect(await refusal(write('workspace/new', { sandbox: { permissions } }))).toEqual(refused);
    });

    it('leave the names of variables alone', async () => {
      const outcome = await fixture.run('echo $sandbox_mode', { env: { sandbox_mode: 'mine' } });
      expect(outcome).toMatchObject({ exitCode: 0, stdout: 'mine\n' });
    });
  });

  describe.each([
    ['kebab-case', (type: string) => type, (member: string) => member],
    ['camelCase', camel, camel],
  ])('written in %s', (_, type, member) => {
    const policy = (name: string, members: object = {}) => ({
      type: type(name),
      ...Object.fromEntries(Object.entries(members).map(([key, value]) => [member(key), value])),
    });
    const legacy = (name: string, members?: object, more: object = {}) => ({
      sandbox: { sandboxPolicy: policy(name, members), ...more },
    });

    it('read-only lets nothing be written', async () => {
      expect(await refusal(write('workspace/new', legacy('read-only')))).toEqual(readOnlyDisk);
      expect(await read('outside/secret', legacy('read-only'))).toBe('secret\n');
    });

    it('restricted access shows what it names and the system', async () => {
      const restricted = { type: 'restricted', [member('readable_roots')]: [fixture.workspace] };
      const held = legacy('read-only', { access: restricted });
      expect(await read('workspace/a.txt', held)).toBe('a\n');
      expect(await refusal(read('outside/secret', held))).toMatchObject({ code: -32004 });
      const flat = legacy('read-only', { access: 'restricted', readable_roots: [fixture.workspace] });
      expect(await refusal(read('outside/secret', flat))).toMatchObject({ code: -32004 });
      const writing = legacy(
        'workspace-write',
        { read_only_access: restricted, ...noTemporary },
        { cwd: uri(fixture.at('workspace/sub')) },
      );
      await write('workspace/sub/new', writing);
      expect(await refusal(write('workspace/new', writing))).toEqual(readOnlyDisk);
      expect(await refusal(read('outside/secret', writing))).toMatchObject({ code: -32004 });
    });

    it('workspace-write works without a directory, and makes the one given writable', async () => {
      const roots = { writable_roots: [fixture.at('workspace/sub')], ...noTemporary };
      await write('workspace/sub/new', legacy('workspace-write', roots));
      expect(await refusal(write('workspace/new', legacy('workspace-write', roots)))).toEqual(readOnlyDisk);
      for (const cwd of [uri(fixture.workspace), fixture.workspace]) {
        await write('workspace/new', legacy('workspace-write', noTemporary, { cwd }));
        expect(await refusal(write('outside/new', legacy('workspace-write', noTemporary, { cwd })))).toEqual(
          readOnlyDisk,
        );
      }
      const sandbox = {
        permissions: undefined,
        workspaceRoots: undefined,
        ...legacy('workspace-write', noTemporary).sandbox,
      };
      expect(await fixture.run('echo x > made && echo x > $O/made', { sandbox })).toMatchObject({ denied: true });
      expect(existsSync(fixture.at('workspace/made'))).toBe(true);
      expect(existsSync(fixture.at('outside/made'))).toBe(false);
    });

    it('danger-full-access and external-sandbox leave files alone', async () => {
      await write('outside/new', legacy('danger-full-access'));
      await write('outside/new', legacy('external-sandbox', { network_access: 'restricted' }));
    });

    it('an access, a member or a value that is not known is refused', async () => {
      const refused = { code: -32602 };
      const bad = [
        { access: 'some' },
        { access: { type: 'some' } },
        { access: { type: 'restricted', readable: [] } },
        { access: 'restricted', readable_roots: '/usr' },
        { network_access: 'maybe' },
        { narrower: true },
      ];
      for (const members of bad)
        expect(await refusal(read('outside/secret', legacy('read-only', members)))).toMatchObject(refused);
    });
  });
});

function camel(name: string): string {
  return name.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
}
