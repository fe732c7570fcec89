import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { LyingServer } from '../../support/lying-server.ts';
import { FilesFixture } from './fixture.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await FilesFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

let copies = 0;

/** A directory on the server with files of those names, and a destination in a directory of its own. */
function scene(...names: string[]): { tree: string; around: string; destination: string } {
  const root = fixture.at(`scene-${++copies}`);
  const tree = `${root}/server/a/b/tree`;
  mkdirSync(tree, { recursive: true });
  for (const name of names) writeFileSync(`${tree}/${name}`, name);
  const around = `${root}/here`;
  mkdirSync(`${around}/in`, { recursive: true });
  return { tree, around, destination: `${around}/in/copy` };
}

describe('cp from a server that lies about names', () => {
  it('refuses a name that leads out of the directory, writes nothing outside and copies the rest', async () => {
    const { tree, around, destination } = scene('innocent', 'plain');
    writeFileSync(`${tree}/../../escaped`, 'written where the server says');
    await using liar = await LyingServer.start(fixture.server.url, ['innocent', '../../escaped']);

    const { code, stderr } = await runCommand(['cp', '--connect', liar.url, `env:${tree}`, destination]);

    expect([existsSync(`${around}/escaped`), readdirSync(around)]).toEqual([false, ['in']]);
    expect(readFileSync(`${destination}/plain`, 'utf8')).toBe('plain');
    expect(code).toBe(1);
    expect(stderr).toContain('../../escaped');
  });

  it.each([
    ['..', '..'],
    ['.', '.'],
    ['an absolute name', '/etc/hostname'],
    ['no name', ''],
    ['a name below a file', 'plain/x'],
    ['a name that was listed before', 'plain'],
  ])('refuses %s and says so', async (_, told) => {
    const { tree, around, destination } = scene('innocent', 'plain');
    await using liar = await LyingServer.start(fixture.server.url, ['innocent', told]);

    const { code, stderr } = await runCommand(['cp', '--connect', liar.url, `env:${tree}`, destination]);

    expect({ code, around: readdirSync(around), inside: readdirSync(`${around}/in`) }).toEqual({
      code: 1,
      around: ['in'],
      inside: ['copy'],
    });
    expect(readdirSync(destination)).toEqual(['plain']);
    expect(readFileSync(`${destination}/plain`, 'utf8')).toBe('plain');
    expect(stderr).toMatch(/^Error: /);
  });

  it('refuses a name with NUL, which ends a field of the listing, and writes nothing', async () => {
    const { tree, around, destination } = scene('innocent', 'plain');
    await using liar = await LyingServer.start(fixture.server.url, ['innocent', 'plain\0../../escaped']);

    const { code, stderr } = await runCommand(['cp', '--connect', liar.url, `env:${tree}`, destination]);

    expect([existsSync(`${around}/escaped`), readdirSync(around), readdirSync(destination)]).toEqual([
      false,
      ['in'],
      [],
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: /);
  });

  it('shows control and bidirectional characters of a name as text', async () => {
    const { tree, destination } = scene('innocent');
    const told = Buffer.from('../\x1b[2J\u202egnp.sh').toString('latin1');
    await using liar = await LyingServer.start(fixture.server.url, ['innocent', told]);

    const { stderr } = await runCommand(['cp', '--connect', liar.url, `env:${tree}`, destination]);

    expect(stderr).toContain('\\x1b[2J\\u{202e}gnp.sh');
    expect(stderr).not.toMatch(/[\x1b\u202e]/);
  });

  it('does not write through a link that an earlier copy left where it wants a directory', async () => {
    const { tree, around, destination } = scene('plain');
    mkdirSync(`${tree}/sub`);
    writeFileSync(`${tree}/sub/file`, 'from the server');
    mkdirSync(`${around}/elsewhere`);
    mkdirSync(`${destination}/tree`, { recursive: true });
    symlinkSync(`${around}/elsewhere`, `${destination}/tree/sub`);

    const { code, stderr } = await runCommand(['cp', '--connect', fixture.server.url, `env:${tree}`, destination]);

    expect(readdirSync(`${around}/elsewhere`)).toEqual([]);
    expect(code).toBe(1);
    expect(stderr).toContain(`Error: ${destination}/tree/sub: is a symbolic link`);
  });

  it('does not write through a link that takes the place of a file', async () => {
    const { tree, around, destination } = scene('plain');
    writeFileSync(`${around}/precious`, 'mine');
    mkdirSync(`${destination}/tree`, { recursive: true });
    symlinkSync(`${around}/precious`, `${destination}/tree/plain`);

    const { code } = await runCommand(['cp', '--connect', fixture.server.url, `env:${tree}`, destination]);

    expect(readFileSync(`${around}/precious`, 'utf8')).toBe('mine');
    expect([code, readFileSync(`${destination}/tree/plain`, 'utf8')]).toEqual([0, 'plain']);
  });

  it.each([
    ['here', 'fs/readFile', (path: string) => `env:${path}`, (path: string) => path],
    ['on the server', 'fs/writeFile', (path: string) => path, (path: string) => `env:${path}`],
  ])('does not follow a link that takes the place of a directory during the copy: %s', async (_, method, from, to) => {
    const { tree, around, destination } = scene('plain');
    mkdirSync(`${tree}/sub`);
    writeFileSync(`${tree}/sub/file`, 'from the server');
    mkdirSync(`${around}/elsewhere`);
    const swap = async (called: string): Promise<void> => {
      if (called !== method || existsSync(`${around}/moved`)) return;
      renameSync(`${destination}/sub`, `${around}/moved`);
      symlinkSync(`${around}/elsewhere`, `${destination}/sub`);
    };
    await using proxy = await LyingServer.startHolding(fixture.server.url, swap);

    const { code, stderr } = await runCommand(['cp', '--connect', proxy.url, from(tree), to(destination)]);

    expect({ elsewhere: readdirSync(`${around}/elsewhere`), moved: readdirSync(`${around}/moved`) }).toEqual({
      elsewhere: [],
      moved: [],
    });
    expect([code, readFileSync(`${destination}/plain`, 'utf8')]).toEqual([1, 'plain']);
    expect(stderr).toContain(`Error: ${to(`${destination}/sub/file`)}: refused: a link or a file is on the way\n`);
  });
});
