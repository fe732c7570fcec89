import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endingShells, hostileBash, hostileSh, hostileZsh } from '../support/hostile-start-up.ts';
import { referenceBinary } from '../support/reference.ts';
import { announced, startServer, type TestServer } from '../support/server.ts';
import { connect } from '../support/wire-client.ts';

const envPolicy = { inherit: 'none', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };
const wanted = "export WANTED=yes MY_TOKEN=secret\ngreet() { /usr/bin/printf 'hello\\n'; }\n";
const script = '/usr/bin/printenv WANTED\n/usr/bin/printenv MY_TOKEN || X=\ngreet 2>/dev/null';

const files = [
  { name: 'bash', path: '/bin/bash', file: '.bashrc', texts: hostileBash },
  { name: 'bash', path: '/bin/bash', file: '.bash_profile', texts: hostileBash },
  { name: 'bash', path: '/bin/bash', file: 'environment', texts: hostileBash },
  { name: 'zsh', path: '/usr/bin/zsh', file: '.zshrc', texts: hostileZsh },
  { name: 'zsh', path: '/usr/bin/zsh', file: '.zprofile', texts: hostileZsh },
  { name: 'sh', path: '/bin/sh', file: '.profile', texts: hostileSh },
].filter(({ path }) => existsSync(path));

const cases = files.flatMap(({ texts, ...shell }) =>
  Object.entries({ ...texts, ...endingShells }).flatMap(([what, text]) =>
    [false, true].map((tty) => ({ ...shell, what, text, tty })),
  ),
);

let servers: { readonly ours: TestServer; readonly reference: TestServer };
let home: string;
beforeAll(async () => {
  const reference = spawn(await referenceBinary(), ['exec-server', '--listen', 'ws://127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  servers = { ours: await startServer({ env: { EXEC_SERVER_LOG: 'error' } }), reference: await announced(reference) };
});
afterAll(async () => {
  await servers.ours.stop();
  await servers.reference.stop();
});

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'exec-server-snapshots-')));
  return () => rm(home, { recursive: true });
});

async function linesBy(server: TestServer, { name, path, tty, file }: (typeof cases)[number]): Promise<string[]> {
  await using client = await connect(server.url);
  const started = await client.start({
    argv: [path, '-lc', script],
    cwd: pathToFileURL(home).href,
    env: { PATH: '/usr/bin:/bin', HOME: home, ...(file === 'environment' && { BASH_ENV: join(home, file) }) },
    envPolicy,
    shellSnapshot: { scopeId: 's', shell: { name, path } },
    tty,
  });
  await started.closed();
  const output = started.output(tty ? 'pty' : 'stdout');
  return ['yes', 'secret', 'hello'].filter((line) => new RegExp(`^${line}\\r?$`, 'm').test(output));
}

describe('the snapshot of a shell', () => {
  it.each(cases)('has what it has with the reference: $name, $file with $what, tty $tty', async (hostile) => {
    await writeFile(join(home, hostile.file), `${wanted}${hostile.text}\n`);
    const theirs = await linesBy(servers.reference, hostile);
    const ours = await linesBy(servers.ours, hostile);
    // A reference that gave up has run the start-up files as they are, with all that they export.
    if (!theirs.includes('secret')) expect(ours).toEqual(expect.arrayContaining(theirs));
    expect(ours).not.toContain('secret');
  });
});
