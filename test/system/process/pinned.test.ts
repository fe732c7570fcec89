import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const uri = (path: string): string => pathToFileURL(path).href;

/** A directory of two that can change places. */
function arrange() {
  const folder = mkdtempSync(join(tmpdir(), 'pinned-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [place, other] = [join(folder, 'place'), join(folder, 'other')];
  for (const directory of [place, other]) mkdirSync(directory);
  return {
    place,
    swap() {
      renameSync(place, join(folder, 'moved'));
      symlinkSync(other, place);
    },
    made: () => [...readdirSync(other), ...readdirSync(place)],
  };
}

async function identityOf(client: WireClient, path: string): Promise<string> {
  const { identity } = (await client.call('fs/getMetadata', { path: uri(path), identity: true })) as {
    identity: string;
  };
  return identity;
}

const sandbox = (cwd: string) => ({
  permissions: {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [
        { path: { type: 'special', value: { kind: 'root' } }, access: 'read' },
        { path: { type: 'special', value: { kind: 'project_roots' } }, access: 'write' },
      ],
    },
    network: 'restricted',
  },
  cwd: uri(cwd),
  workspaceRoots: [uri(cwd)],
});

describe.each([
  ['without a sandbox', () => ({})],
  ['in a sandbox', (cwd: string) => ({ sandbox: sandbox(cwd) })],
])('a process that is pinned to a directory, %s', (_where, options) => {
  it('starts there', async () => {
    await using client = await connect(server.url);
    const { place, made } = arrange();
    const cwdIdentity = await identityOf(client, place);

    const process = await client.start({ argv: ['touch', 'file'], cwd: uri(place), cwdIdentity, ...options(place) });
    await process.closed();

    expect(made()).toEqual(['file']);
  });

  it('does not start in another that took its place', async () => {
    await using client = await connect(server.url);
    const { place, swap, made } = arrange();
    const cwdIdentity = await identityOf(client, place);
    swap();

    const starting = client.start({ argv: ['touch', 'file'], cwd: uri(place), cwdIdentity, ...options(place) });

    await expect(starting).rejects.toThrow(`the working directory ${place} is another one than ${cwdIdentity}`);
    expect(made()).toEqual([]);
  });
});

it('tells which file it is only to those who ask, and takes nothing else for an answer', async () => {
  await using client = await connect(server.url);
  expect(await client.call('fs/getMetadata', { path: 'file:///' })).not.toHaveProperty('identity');
  const starting = client.start({ argv: ['true'], cwd: 'file:///', cwdIdentity: 'x' });
  await expect(starting).rejects.toThrow('cwdIdentity must be DEVICE:INODE');
});
