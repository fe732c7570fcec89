import {
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { platformName } from '../../../src/host/os/platform.ts';
import { base64 } from '../../support/wire-client.ts';
import { refusal } from '../files/fixture.ts';
import { type Account, accounts, SandboxFixture, type Started, uri } from './fixture.ts';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));

/** Copies a part of this checkout. */
function install(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(join(checkout, from), to, { recursive: true, dereference: true });
}

function own(path: string, { uid, gid }: Account): void {
  if (lstatSync(path).isSymbolicLink()) return;
  chownSync(path, uid, gid);
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) own(join(path, name), { name, uid, gid });
}

const layouts = {
  /** As `npm install` leaves a released package, started by its link. */
  package: (folder: string): Started => {
    const modules = join(folder, 'workspace/node_modules');
    install('dist/bin', join(modules, 'exec-server/dist/bin'));
    install('build/native', join(modules, 'exec-server/vendor', platformName(), 'native'));
    install('package.json', join(modules, 'exec-server/package.json'));
    install('node_modules/undici', join(modules, 'undici'));
    mkdirSync(join(modules, '.bin'));
    symlinkSync('../exec-server/dist/bin/exec-server.cjs', join(modules, '.bin/exec-server'));
    return { node: copiedNode(folder), script: join(modules, '.bin/exec-server') };
  },
  checkout: (folder: string): Started => {
    const root = join(folder, 'workspace/tools/checkout');
    for (const part of ['dist/bin', 'build/native', 'package.json', 'node_modules/undici'])
      install(part, join(root, part));
    return { node: process.execPath, script: join(root, 'dist/bin/exec-server.cjs') };
  },
};

function copiedNode(folder: string): string {
  const node = join(folder, 'workspace/runtime/bin/node');
  mkdirSync(dirname(node), { recursive: true });
  copyFileSync(process.execPath, node);
  return node;
}

const open = (account: Account, layout: keyof typeof layouts): Promise<SandboxFixture> =>
  SandboxFixture.open(
    account,
    {},
    {
      program: (folder) => {
        const started = layouts[layout](folder);
        mkdirSync(join(folder, 'workspace/node_modules/other'), { recursive: true });
        mkdirSync(join(folder, 'workspace/src'), { recursive: true });
        own(folder, account);
        return started;
      },
    },
  );

describe.each(accounts)('a server that $name has installed inside the workspace', (account) => {
  describe.each([
    [
      'package',
      {
        edited: 'node_modules/exec-server/dist/bin/main.cjs',
        created: ['node_modules/exec-server/build', 'node_modules/exec-server/node_modules', 'node_modules/undici/new'],
        moved: [
          'node_modules',
          'node_modules/exec-server',
          'node_modules/undici',
          'node_modules/.bin',
          'runtime',
          'runtime/bin',
        ],
        replaced: ['node_modules/.bin/exec-server', 'runtime/bin/node', 'node_modules/undici/package.json'],
        writable: ['node_modules/other/f', 'src/f', 'runtime/f', 'f'],
      },
    ],
    [
      'checkout',
      {
        edited: 'tools/checkout/dist/bin/main.cjs',
        created: ['tools/checkout/dist/node_modules', 'tools/checkout/build/native/new'],
        moved: [
          'tools',
          'tools/checkout',
          'tools/checkout/dist',
          'tools/checkout/build',
          'tools/checkout/node_modules',
        ],
        replaced: ['tools/checkout/build/native/exec_native.node', 'tools/checkout/node_modules/undici/index.js'],
        writable: ['tools/checkout/src.ts', 'tools/checkout/package.json', 'tools/checkout/node_modules/f', 'f'],
      },
    ],
  ] as const)('as a %s', (layout, places) => {
    let fixture: SandboxFixture;
    beforeAll(async () => {
      fixture = await open(account, layout);
    });
    afterAll(() => fixture[Symbol.asyncDispose]());

    it('cannot be edited by its commands', async () => {
      const before = readFileSync(join(fixture.workspace, places.edited));
      expect(await fixture.run(`echo '//' >> ${places.edited}`)).toMatchObject({ exitCode: 1, denied: true });
      expect(readFileSync(join(fixture.workspace, places.edited)).equals(before)).toBe(true);
    });

    it('cannot be given anything that it would load instead', async () => {
      for (const place of places.created) {
        expect(await fixture.run(`mkdir ${place}`)).toMatchObject({ exitCode: 1, denied: true });
        expect(existsSync(join(fixture.workspace, place))).toBe(false);
      }
      for (const place of places.replaced) {
        expect(await fixture.run(`echo x > f; mv -f f ${place}`)).toMatchObject({ exitCode: 1 });
        expect(await fixture.run(`rm -f ${place}`)).toMatchObject({ exitCode: 1 });
        expect(existsSync(join(fixture.workspace, place))).toBe(true);
      }
    });

    it('cannot be moved away with a directory around it', async () => {
      for (const place of places.moved) {
        const outcome = await fixture.run(`perl -e 'rename(shift, shift) or die "$!\\n"' ${place} away`);
        expect([place, outcome.stderr]).toEqual([place, expect.stringMatching(/busy|cross-device/)]);
        expect(existsSync(join(fixture.workspace, place))).toBe(true);
      }
    });

    it('is as safe from sandboxed file calls, and from an entry that opens it', async () => {
      const sandbox = {
        permissions: {
          type: 'managed',
          file_system: {
            type: 'restricted',
            entries: [
              { path: { type: 'special', value: { kind: 'root' } }, access: 'read' },
              { path: { type: 'path', path: uri(join(fixture.workspace, dirname(places.edited))) }, access: 'write' },
              { path: { type: 'special', value: { kind: 'project_roots' } }, access: 'write' },
            ],
          },
          network: 'restricted',
        },
        cwd: uri(fixture.workspace),
        workspaceRoots: [uri(fixture.workspace)],
      };
      const before = readFileSync(join(fixture.workspace, places.edited));
      const params = { path: uri(join(fixture.workspace, places.edited)), dataBase64: base64(before), sandbox };
      expect(await refusal(fixture.client.call('fs/writeFile', params))).toMatchObject({ code: -32603 });
      const { entries } = sandbox.permissions.file_system;
      expect(await fixture.run(`touch ${places.edited}`, { entries })).toMatchObject({ exitCode: 1, denied: true });
    });

    it('leaves everything else writable', async () => {
      for (const place of places.writable) {
        expect(await fixture.run(`echo x >> ${place}`)).toMatchObject({ exitCode: 0, stderr: '' });
      }
    });
  });
});
