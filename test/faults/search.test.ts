import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { residentMiB } from '../support/proc.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { connect, type WebSocketClient } from '../support/wire-client.ts';

const MIB = 1024 * 1024;
const TEXT_FILES = 1000;
const BINARY_FILES = 24;

interface Found {
  readonly matches: readonly { readonly path: string; readonly line: number; readonly column: number }[];
  readonly truncated: boolean;
  readonly cancelled: boolean;
  readonly filesSearched: number;
  readonly skipped: { readonly binary: number; readonly unreadable: number; readonly tooLarge: number };
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

/** 1 GiB: files of 1 MiB in directories of 50, some of them binary, one directory closed. */
function plant(folder: string): void {
  const line = `${'aaaaaaaaaa bbbb '.repeat(4)}\n`;
  const text = line.repeat(Math.ceil(MIB / line.length)).slice(0, MIB - 1);
  const binary = Buffer.concat([Buffer.from([0x7f, 0]), Buffer.from(text)]);
  for (let file = 0; file < TEXT_FILES + BINARY_FILES; file++) {
    const directory = join(folder, `d${String(Math.floor(file / 50)).padStart(2, '0')}`);
    if (file % 50 === 0) mkdirSync(directory);
    const last = file === TEXT_FILES - 1 ? `${text}\nthe only needle 42` : text;
    writeFileSync(join(directory, `f${String(file % 50).padStart(2, '0')}`), file < TEXT_FILES ? last : binary);
  }
  mkdirSync(join(folder, 'd00/closed'));
  chmodSync(join(folder, 'd00/closed'), 0);
}

describe('a search of a tree of 1 GiB', () => {
  let folder: string;
  let server: TestServer;
  let client: WebSocketClient;
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-fault-search-')));
    plant(folder);
    server = await startServer();
    client = await connect(server.url);
  });
  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await server.stop();
    chmodSync(join(folder, 'd00/closed'), 0o700);
    rmSync(folder, { recursive: true, force: true });
  });

  /** In a helper, whose root cannot read what is closed either. */
  const sandbox = () => ({
    permissions: {
      type: 'managed',
      network: 'restricted',
      file_system: {
        type: 'restricted',
        entries: [
          { path: { type: 'special', value: { kind: 'minimal' } }, access: 'read' },
          { path: { type: 'path', path: `file://${folder}` }, access: 'read' },
        ],
      },
    },
    windowsSandboxLevel: 'disabled',
    cwd: `file://${folder}`,
    workspaceRoots: [`file://${folder}`],
  });
  const search = (query: object): Promise<Found> =>
    client.call<Found>('fs/search', { path: `file://${folder}`, ...query });
  const needle = (): object => ({
    path: `file://${folder}/d19/f49`,
    line: 16_133,
    column: 10,
    text: 'the only needle 42',
  });

  it.each([
    ['directly', () => ({})],
    ['in a sandbox', () => ({ sandbox: sandbox() })],
  ])('finds the one match, skips what is binary, and keeps its memory, %s', async (_, more) => {
    await search({ content: { literal: 'warm up' }, ...more() });
    const before = residentMiB(server.pid);
    const found = await search({ content: { literal: 'needle' }, ...more() });
    expect(found).toMatchObject({
      matches: [needle()],
      truncated: false,
      filesSearched: TEXT_FILES,
      skipped: { binary: BINARY_FILES, tooLarge: 0 },
    });
    expect(residentMiB(server.pid) - before).toBeLessThan(20);
  });

  it('gives the first match without reading the rest', async () => {
    const found = await search({ content: { literal: 'bbbb' }, maxMatches: 1 });
    expect(found).toMatchObject({
      matches: [{ path: `file://${folder}/d00/f00`, line: 1, column: 12 }],
      truncated: true,
    });
    expect(found.filesSearched).toBeLessThanOrEqual(16);
  });

  it('reports a directory that cannot be read, and goes on', async () => {
    const found = await search({ content: { literal: 'needle' }, sandbox: sandbox() });
    expect(found).toMatchObject({
      matches: [needle()],
      skipped: { unreadable: 1 },
      errors: [{ path: `file://${folder}/d00/closed`, message: 'Permission denied (os error 13)' }],
    });
  });

  it.each(['(a*)*[xyz]', '(a|a)*[xyz]', '((a|b| )+)+[xyz]$', '(.*)(.*)(.*)(.*)[xyz]'])(
    'ends also with an expression that would blow up a backtracking matcher: %s',
    async (regex) => {
      expect(await search({ content: { regex } })).toMatchObject({ filesSearched: TEXT_FILES, cancelled: false });
    },
  );

  it('is cancelled in the middle, and other requests do not wait for it', async () => {
    const slow = search({ searchId: 'slow', content: { regex: '(.*)(.*)(.*)(.*)[xyz]' } });
    for (let request = 0; request < 3; request++) {
      await client.call('fs/getMetadata', { path: `file://${folder}/d00/f00` });
      await client.call('environment/status');
    }
    expect(await client.call('fs/searchCancel', { searchId: 'slow' })).toEqual({ cancelled: true });
    const found = await slow;
    expect(found.cancelled).toBe(true);
    expect(found.filesSearched).toBeLessThan(TEXT_FILES);
  });
});
