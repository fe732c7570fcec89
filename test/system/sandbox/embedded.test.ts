import {
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { platformName } from '../../../src/host/os/platform.ts';
import { sha256 } from '../../support/digest.ts';
import { type Account, accounts, SandboxFixture, type Started } from './fixture.ts';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const TOKEN = 'of-the-embedding-program';

/** A program that is a server with native parts beside its own directory. */
const program = `
  import { runMain } from ${JSON.stringify(join(checkout, 'src/server/index.ts'))};
  const stop = new AbortController();
  process.on('SIGTERM', () => stop.abort());
  const runtimePaths = { native: new URL('../parts', import.meta.url).pathname };
  const auth = { type: 'capability-token', sha256: Buffer.from(process.env.DIGEST, 'hex') };
  await runMain({ listenUrl: 'ws://127.0.0.1:0', runtimePaths, auth, environment: process.env }, stop.signal);
`;

let bundles: string;
beforeAll(async () => {
  bundles = mkdtempSync(join(tmpdir(), 'bundles-'));
  const input = join(bundles, 'program.mts');
  writeFileSync(input, program);
  const build = await rolldown({ input, platform: 'node', transform: { target: 'node20.19' } });
  await build.write({ file: join(bundles, 'whole/program.mjs'), format: 'esm', codeSplitting: false });
  const names = { entryFileNames: 'program.mjs', chunkFileNames: 'part-[name]-[hash].mjs' };
  await build.write({ dir: join(bundles, 'split'), format: 'esm', ...names });
});
afterAll(() => rmSync(bundles, { recursive: true }));

const native = join(checkout, 'build/native');

/** Puts a bundle and native parts into a workspace. */
const layouts = {
  whole: (workspace: string) => {
    cpSync(join(bundles, 'whole'), join(workspace, 'app'), { recursive: true });
    cpSync(native, join(workspace, 'parts'), { recursive: true });
  },
  split: (workspace: string) => {
    cpSync(join(bundles, 'split'), join(workspace, 'app'), { recursive: true });
    cpSync(native, join(workspace, 'parts'), { recursive: true });
  },
  'beside other native parts': (workspace: string) => {
    layouts.whole(workspace);
    cpSync(native, join(workspace, 'app/vendor', platformName(), 'native'), { recursive: true });
  },
  'with native parts that are links': (workspace: string) => {
    cpSync(join(bundles, 'whole'), join(workspace, 'app'), { recursive: true });
    cpSync(native, join(workspace, 'store'), { recursive: true });
    mkdirSync(join(workspace, 'parts'));
    for (const name of readdirSync(native)) symlinkSync(`../store/${name}`, join(workspace, 'parts', name));
  },
  'with native parts behind a link': (workspace: string) => {
    cpSync(join(bundles, 'whole'), join(workspace, 'app'), { recursive: true });
    cpSync(native, join(workspace, 'store'), { recursive: true });
    symlinkSync('store', join(workspace, 'parts'));
  },
};

function own(path: string, { uid, gid }: Account): void {
  if (lstatSync(path).isSymbolicLink()) return;
  chownSync(path, uid, gid);
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) own(join(path, name), { name, uid, gid });
}

function open(account: Account, layout: keyof typeof layouts): Promise<SandboxFixture> {
  const digest = sha256(TOKEN);
  return SandboxFixture.open(
    account,
    { DIGEST: digest, SIGNING: TOKEN, OTHER: 'kept' },
    {
      headers: { authorization: `Bearer ${TOKEN}` },
      program: (folder): Started => {
        const workspace = join(folder, 'workspace');
        mkdirSync(workspace, { recursive: true });
        layouts[layout](workspace);
        own(folder, account);
        return { node: process.execPath, script: join(workspace, 'app/program.mjs') };
      },
    },
  );
}

describe.each(accounts)('a program of $name that has the server in it, inside the workspace', (account) => {
  describe.each(['whole', 'split', 'beside other native parts', 'with native parts that are links'] as const)(
    '%s',
    (layout) => {
      let fixture: SandboxFixture;
      beforeAll(async () => {
        fixture = await open(account, layout);
      });
      afterAll(() => fixture[Symbol.asyncDispose]());

      const files = (folder: string) =>
        readdirSync(join(fixture.workspace, folder))
          .map((name) => `${folder}/${name}`)
          .filter((name) => !lstatSync(join(fixture.workspace, name)).isDirectory());

      it('cannot be edited, replaced or removed by its commands', async () => {
        const all = [...files('app'), ...files('parts')];
        expect(all).toEqual(expect.arrayContaining(['app/program.mjs', 'parts/guardian']));
        const before = all.map((name) => readFileSync(join(fixture.workspace, name)));

        const attempts = 'echo x > "$f"; echo x > own; mv -f own "$f"; rm -f "$f"';
        await fixture.run(`for f in ${all.join(' ')}; do ${attempts}; done`);
        await fixture.run('for d in app parts; do mv $d $d.away; mkdir $d; done');

        for (const [at, name] of all.entries()) {
          expect([name, readFileSync(join(fixture.workspace, name)).equals(before[at]!)]).toEqual([name, true]);
        }
      });

      it('leaves the rest of the workspace writable', async () => {
        expect(await fixture.run('echo x > f && mkdir sub && echo x > sub/f')).toMatchObject({ exitCode: 0 });
      });
    },
  );

  it('starts nothing in a sandbox that could replace the link to its native parts', async () => {
    await using fixture = await open(account, 'with native parts behind a link');

    const { exitCode, stderr } = await fixture.run('mv parts away');

    const link = join(fixture.workspace, 'parts');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `exec-server: the sandbox cannot be built: ${link} cannot be protected: ${link} is a symbolic link that commands can replace\n`,
    });
  });

  it('lets no command inherit the token of its clients', async () => {
    await using fixture = await open(account, 'whole');
    const envPolicy = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };

    const { stdout } = await fixture.run('echo "$SIGNING:$OTHER"', { start: { envPolicy } });

    expect(stdout).toBe(':kept\n');
  });
});
