import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FilesFixture, refusal } from './fixture.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await FilesFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const fifo = (name: string): string => {
  execFileSync('mkfifo', [fixture.at(name)]);
  return name;
};

describe('files', () => {
  it('carry any bytes there and back, whatever their number', async () => {
    for (const length of [0, 1, 2, 3, 4095, 65_536, 65_537, 196_608, 196_609, 3_000_000]) {
      const content = randomBytes(length);
      await fixture.write('any', content);
      expect(readFileSync(fixture.at('any')).equals(content)).toBe(true);
      expect((await fixture.read('any')).equals(content)).toBe(true);
    }
  });

  it.each([
    [3_000_000, 2_000_000],
    [3_000_000, 100],
    [2_000, 1_999],
    [2_000, 3_000_000],
    [2_000_000, 0],
  ])('of %i bytes hold nothing of them after %i others were written', async (before, after) => {
    writeFileSync(fixture.at('rewritten'), randomBytes(before));
    const content = randomBytes(after);

    await fixture.write('rewritten', content);

    expect(readFileSync(fixture.at('rewritten')).equals(content)).toBe(true);
  });

  it('that stay empty when they are written are written all the same', async () => {
    writeFileSync(fixture.at('empty'), '');
    utimesSync(fixture.at('empty'), 1, 1);

    await fixture.write('empty', '');

    expect(statSync(fixture.at('empty')).mtimeMs).toBeGreaterThan(1000);
  });

  it('are found by names that are no UTF-8', async () => {
    await fixture.call('fs/createDirectory', { path: fixture.uri('raw') });
    await fixture.write('raw/name%FF', 'bytes');
    expect(readdirSync(fixture.at('raw'), 'buffer')).toEqual([Buffer.from('name\xff', 'latin1')]);
    expect((await fixture.read('raw/name%FF')).toString()).toBe('bytes');
    await fixture.call('fs/copy', {
      sourcePath: fixture.uri('raw'),
      destinationPath: fixture.uri('raw2'),
      recursive: true,
    });
    expect(readdirSync(fixture.at('raw2'), 'buffer')).toEqual([Buffer.from('name\xff', 'latin1')]);
    expect(await fixture.call('fs/readDirectory', { path: fixture.uri('raw2') })).toEqual({
      entries: [{ fileName: 'name\ufffd', isDirectory: false, isFile: true }],
    });
    await fixture.call('fs/remove', { path: fixture.uri('raw2') });
    expect(existsSync(fixture.at('raw2'))).toBe(false);
  });

  it('of no size before they are read are read to their end', async () => {
    const { dataBase64 } = await fixture.client.call<{ dataBase64: string }>('fs/readFile', {
      path: `file:///proc/${fixture.server.pid}/status`,
    });
    expect(Buffer.from(dataBase64, 'base64').toString()).toContain(`Pid:\t${fixture.server.pid}\n`);
  });

  it('above 512 MiB are refused before they are read', async () => {
    writeFileSync(fixture.at('huge'), '');
    truncateSync(fixture.at('huge'), 536_870_913);
    expect(await refusal(fixture.read('huge'))).toEqual({
      code: -32600,
      message: 'file is too large to read: limit is 536870912 bytes',
    });
  });

  it('that are pipes never make a request wait', async () => {
    const name = fifo('fifo');
    const notAFile = { code: -32600, message: `path \`${fixture.at(name)}\` is not a file` };
    expect(await refusal(fixture.read(name))).toEqual(notAFile);
    expect(await refusal(fixture.call('fs/open', { handleId: 'f', path: fixture.uri(name) }))).toEqual(notAFile);
    expect(await refusal(fixture.write(name, 'x'))).toEqual({
      code: -32603,
      message: 'No such device or address (os error 6)',
    });
    expect(await fixture.call('fs/getMetadata', { path: fixture.uri(name) })).toMatchObject({
      isDirectory: false,
      isFile: false,
    });
  });

  it('on a full device tell so', async () => {
    symlinkSync('/dev/full', fixture.at('full'));
    expect(await refusal(fixture.write('full', 'x'))).toEqual({
      code: -32603,
      message: 'No space left on device (os error 28)',
    });
  });

  it('that must not grow are an error of the request, not the end of the server', async () => {
    await using limited = await FilesFixture.open();
    execFileSync('prlimit', ['--pid', String(limited.server.pid), '--fsize=65536']);
    expect(await refusal(limited.write('big', Buffer.alloc(100_000)))).toEqual({
      code: -32603,
      message: 'File too large (os error 27)',
    });
    await limited.write('small', 'still here');
    expect((await limited.read('small')).toString()).toBe('still here');
  });
});

describe('requests', () => {
  it('about the same place keep their order without being waited for', async () => {
    const rounds = Array.from({ length: 20 }, async (_, n) => {
      const name = `order${n}`;
      const answers = Promise.all([
        fixture.call('fs/createDirectory', { path: fixture.uri(`${name}/deep`) }),
        fixture.write(`${name}/deep/f`, Buffer.alloc(200_000, 1)),
        fixture.write(`${name}/deep/f`, `last ${n}`),
        fixture.call('fs/copy', {
          sourcePath: fixture.uri(name),
          destinationPath: fixture.uri(`${name}-copy`),
          recursive: true,
        }),
        fixture.read(`${name}-copy/deep/f`),
        fixture.call('fs/remove', { path: fixture.uri(`${name}-copy`) }),
        refusal(fixture.read(`${name}-copy/deep/f`)),
      ]);
      const [, , , , content, , missing] = await answers;
      return { content: content.toString(), code: missing.code };
    });
    expect(await Promise.all(rounds)).toEqual(
      Array.from({ length: 20 }, (_, n) => ({ content: `last ${n}`, code: -32004 })),
    );
  });

  it('about one handle keep their order without being waited for', async () => {
    const handle = { handleId: 'piped' };
    // Every block covers the second half of the one before it.
    const blocks = Array.from({ length: 200 }, (_, n) => ({
      offset: n * 20_000,
      chunk: Buffer.alloc(40_000, n).toString('base64'),
    }));
    const answers = await Promise.all([
      fixture.call('fs/open', { ...handle, path: fixture.uri('piped'), mode: 'replace' }),
      ...blocks.map((block) => fixture.client.call('fs/writeBlock', { ...handle, ...block })),
      fixture.client.call('fs/close', handle),
    ]);
    expect(answers.slice(1)).toEqual(Array.from({ length: 201 }, () => ({})));
    const expected = [...blocks.map((_, n) => Buffer.alloc(20_000, n)), Buffer.alloc(20_000, 199)];
    expect((await fixture.read('piped')).equals(Buffer.concat(expected))).toBe(true);
  });
});

describe('directories', () => {
  it('of 50000 entries are listed, of one more they are not', async () => {
    mkdirSync(fixture.at('many'));
    for (let n = 0; n < 50_000; n++) linkSync(fixture.at('any'), fixture.at('many', `${n}`));
    const { entries } = await fixture.call<{ entries: unknown[] }>('fs/readDirectory', { path: fixture.uri('many') });
    expect(entries.length).toBe(50_000);
    writeFileSync(fixture.at('many', 'more'), '');
    expect(await refusal(fixture.call('fs/readDirectory', { path: fixture.uri('many') }))).toEqual({
      code: -32603,
      message: 'fs/readDirectory returned 50001 entries; limit is 50000',
    });
    await fixture.call('fs/remove', { path: fixture.uri('many') });
    expect(existsSync(fixture.at('many'))).toBe(false);
  });

  it('are removed however deep they are, with few descriptors', async () => {
    await using frugal = await FilesFixture.open();
    execFileSync('prlimit', ['--pid', String(frugal.server.pid), '--nofile=400']);
    // Deeper than any path is long: made from inside.
    const descend = 'for (1 .. $ARGV[0]) { mkdir "d" and chdir "d" or die } open F, ">", "f"';
    for (const [n, depth] of [3000, ...Array.from({ length: 40 }, () => 150)].entries()) {
      mkdirSync(frugal.at(`deep/${n}`), { recursive: true });
      execFileSync('perl', ['-e', descend, String(depth)], { cwd: frugal.at(`deep/${n}`) });
    }
    await frugal.call('fs/remove', { path: frugal.uri('deep') });
    expect(existsSync(frugal.at('deep'))).toBe(false);
  });

  it('in any number of directories are copied and removed completely', async () => {
    const names = Array.from({ length: 1800 }, (_, n) => `many-directories/${n % 3 === 0 ? 'a/' : ''}${n}`);
    for (const name of names) {
      mkdirSync(fixture.at(name), { recursive: true });
      writeFileSync(fixture.at(name, 'file'), name);
    }
    const copyOf = (name: string) => fixture.at(name.replace('many-directories', 'copied-directories'), 'file');

    const [path, destinationPath] = [fixture.uri('many-directories'), fixture.uri('copied-directories')];
    await fixture.call('fs/copy', { sourcePath: path, destinationPath, recursive: true });
    await fixture.call('fs/remove', { path });

    expect(existsSync(fixture.at('many-directories'))).toBe(false);
    expect(names.map((name) => readFileSync(copyOf(name), 'utf8'))).toEqual(names);
  });

  it('behind a link stay when the link is removed', async () => {
    mkdirSync(fixture.at('kept'));
    writeFileSync(fixture.at('kept', 'f'), '');
    symlinkSync('kept', fixture.at('to-kept'));
    await fixture.call('fs/remove', { path: fixture.uri('to-kept') });
    expect({ link: existsSync(fixture.at('to-kept')), file: existsSync(fixture.at('kept', 'f')) }).toEqual({
      link: false,
      file: true,
    });
  });

  it('are copied with links as links and files with their modes', async () => {
    mkdirSync(fixture.at('from/sub'), { recursive: true });
    writeFileSync(fixture.at('from/sub/run'), '#!/bin/sh\n');
    chmodSync(fixture.at('from/sub/run'), 0o751);
    symlinkSync('sub/run', fixture.at('from/link'));
    fifo('from/pipe');
    const large = randomBytes(300_000);
    writeFileSync(fixture.at('from/large'), large);
    await fixture.call('fs/copy', {
      sourcePath: fixture.uri('from'),
      destinationPath: fixture.uri('to'),
      recursive: true,
    });
    expect(statSync(fixture.at('to/sub/run')).mode & 0o7777).toBe(0o751);
    expect(lstatSync(fixture.at('to/link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(fixture.at('to/large')).equals(large)).toBe(true);
    expect(existsSync(fixture.at('to/pipe'))).toBe(false);
  });

  it('are not copied into themselves, not even behind a link', async () => {
    mkdirSync(fixture.at('self/inner'), { recursive: true });
    symlinkSync('self/inner', fixture.at('door'));
    const params = { sourcePath: fixture.uri('self'), destinationPath: fixture.uri('door/x/y'), recursive: true };
    expect(await refusal(fixture.call('fs/copy', params))).toEqual({
      code: -32600,
      message: 'fs/copy cannot copy a directory to itself or one of its descendants',
    });
  });

  it('are copied below directories that are not there yet', async () => {
    mkdirSync(fixture.at('origin'));
    const destinationPath = fixture.uri('not/yet/there');
    await fixture.call('fs/copy', { sourcePath: fixture.uri('origin'), destinationPath, recursive: true });
    expect(statSync(fixture.at('not/yet/there')).isDirectory()).toBe(true);
  });

  it('have links that lead nowhere, which a walk does not count', async () => {
    mkdirSync(fixture.at('counted'));
    symlinkSync('nowhere', fixture.at('counted/a'));
    writeFileSync(fixture.at('counted/b'), '');
    const options = { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false };
    expect(await fixture.call('fs/walk', { path: fixture.uri('counted'), options })).toEqual({
      entries: [{ path: fixture.uri('counted/b'), kind: 'file' }],
      errors: [],
      truncated: false,
    });
  });

  it('leave a file that is copied onto itself as it is', async () => {
    await fixture.write('same', 'content');
    linkSync(fixture.at('same'), fixture.at('same2'));
    await fixture.call('fs/copy', {
      sourcePath: fixture.uri('same'),
      destinationPath: fixture.uri('same2'),
      recursive: false,
    });
    expect(readFileSync(fixture.at('same'), 'utf8')).toBe('content');
  });
});

describe('a watch for missing paths', () => {
  const changed = (watchId: number) =>
    fixture.client.strayUntil(
      (message) => 'method' in message && (message.params as { watchId?: number }).watchId === watchId,
    );

  it('sees a path appear when a directory is moved into place', async () => {
    mkdirSync(fixture.at('stage/b'), { recursive: true });
    writeFileSync(fixture.at('stage/b/c'), '');
    const params = { watchId: 1, missing: [fixture.uri('arrived/b/c')] };
    expect(await fixture.client.call('fs/watchMissing', params)).toEqual({ watching: true });
    execFileSync('mv', [fixture.at('stage'), fixture.at('arrived')]);
    await changed(1);
  });

  it('sees the present path go away', async () => {
    writeFileSync(fixture.at('present'), '');
    const params = { watchId: 2, missing: [fixture.uri('never')], present: fixture.uri('present') };
    expect(await fixture.client.call('fs/watchMissing', params)).toEqual({ watching: true });
    execFileSync('rm', [fixture.at('present')]);
    await changed(2);
  });
});
