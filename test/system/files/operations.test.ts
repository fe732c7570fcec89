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
import { refusal, Shelf } from './fixture.ts';

let shelf: Shelf;
beforeAll(async () => {
  shelf = await Shelf.open();
});
afterAll(() => shelf[Symbol.asyncDispose]());

const fifo = (name: string): string => {
  execFileSync('mkfifo', [shelf.at(name)]);
  return name;
};

describe('files', () => {
  it('carry any bytes there and back, whatever their number', async () => {
    for (const length of [0, 1, 2, 3, 4095, 65_536, 65_537, 196_608, 196_609, 3_000_000]) {
      const content = randomBytes(length);
      await shelf.write('any', content);
      expect(readFileSync(shelf.at('any')).equals(content)).toBe(true);
      expect((await shelf.read('any')).equals(content)).toBe(true);
    }
  });

  it.each([
    [3_000_000, 2_000_000],
    [3_000_000, 100],
    [2_000, 1_999],
    [2_000, 3_000_000],
    [2_000_000, 0],
  ])('of %i bytes hold nothing of them after %i others were written', async (before, after) => {
    writeFileSync(shelf.at('rewritten'), randomBytes(before));
    const content = randomBytes(after);

    await shelf.write('rewritten', content);

    expect(readFileSync(shelf.at('rewritten')).equals(content)).toBe(true);
  });

  it('that stay empty when they are written are written all the same', async () => {
    writeFileSync(shelf.at('empty'), '');
    utimesSync(shelf.at('empty'), 1, 1);

    await shelf.write('empty', '');

    expect(statSync(shelf.at('empty')).mtimeMs).toBeGreaterThan(1000);
  });

  it('are found by names that are no UTF-8', async () => {
    await shelf.call('fs/createDirectory', { path: shelf.uri('raw') });
    await shelf.write('raw/name%FF', 'bytes');
    expect(readdirSync(shelf.at('raw'), 'buffer')).toEqual([Buffer.from('name\xff', 'latin1')]);
    expect((await shelf.read('raw/name%FF')).toString()).toBe('bytes');
    await shelf.call('fs/copy', { sourcePath: shelf.uri('raw'), destinationPath: shelf.uri('raw2'), recursive: true });
    expect(readdirSync(shelf.at('raw2'), 'buffer')).toEqual([Buffer.from('name\xff', 'latin1')]);
    expect(await shelf.call('fs/readDirectory', { path: shelf.uri('raw2') })).toEqual({
      entries: [{ fileName: 'name\ufffd', isDirectory: false, isFile: true }],
    });
    await shelf.call('fs/remove', { path: shelf.uri('raw2') });
    expect(existsSync(shelf.at('raw2'))).toBe(false);
  });

  it('of no size before they are read are read to their end', async () => {
    const { dataBase64 } = await shelf.client.call<{ dataBase64: string }>('fs/readFile', {
      path: `file:///proc/${shelf.server.pid}/status`,
    });
    expect(Buffer.from(dataBase64, 'base64').toString()).toContain(`Pid:\t${shelf.server.pid}\n`);
  });

  it('above 512 MiB are refused before they are read', async () => {
    writeFileSync(shelf.at('huge'), '');
    truncateSync(shelf.at('huge'), 536_870_913);
    expect(await refusal(shelf.read('huge'))).toEqual({
      code: -32600,
      message: 'file is too large to read: limit is 536870912 bytes',
    });
  });

  it('that are pipes never make a request wait', async () => {
    const name = fifo('fifo');
    const notAFile = { code: -32600, message: `path \`${shelf.at(name)}\` is not a file` };
    expect(await refusal(shelf.read(name))).toEqual(notAFile);
    expect(await refusal(shelf.call('fs/open', { handleId: 'f', path: shelf.uri(name) }))).toEqual(notAFile);
    expect(await refusal(shelf.write(name, 'x'))).toEqual({
      code: -32603,
      message: 'No such device or address (os error 6)',
    });
    expect(await shelf.call('fs/getMetadata', { path: shelf.uri(name) })).toMatchObject({
      isDirectory: false,
      isFile: false,
    });
  });

  it('on a full device tell so', async () => {
    symlinkSync('/dev/full', shelf.at('full'));
    expect(await refusal(shelf.write('full', 'x'))).toEqual({
      code: -32603,
      message: 'No space left on device (os error 28)',
    });
  });

  it('that must not grow are an error of the request, not the end of the server', async () => {
    await using limited = await Shelf.open();
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
        shelf.call('fs/createDirectory', { path: shelf.uri(`${name}/deep`) }),
        shelf.write(`${name}/deep/f`, Buffer.alloc(200_000, 1)),
        shelf.write(`${name}/deep/f`, `last ${n}`),
        shelf.call('fs/copy', {
          sourcePath: shelf.uri(name),
          destinationPath: shelf.uri(`${name}-copy`),
          recursive: true,
        }),
        shelf.read(`${name}-copy/deep/f`),
        shelf.call('fs/remove', { path: shelf.uri(`${name}-copy`) }),
        refusal(shelf.read(`${name}-copy/deep/f`)),
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
      shelf.call('fs/open', { ...handle, path: shelf.uri('piped'), mode: 'replace' }),
      ...blocks.map((block) => shelf.client.call('fs/writeBlock', { ...handle, ...block })),
      shelf.client.call('fs/close', handle),
    ]);
    expect(answers.slice(1)).toEqual(Array.from({ length: 201 }, () => ({})));
    const expected = [...blocks.map((_, n) => Buffer.alloc(20_000, n)), Buffer.alloc(20_000, 199)];
    expect((await shelf.read('piped')).equals(Buffer.concat(expected))).toBe(true);
  });
});

describe('directories', () => {
  it('of 50000 entries are listed, of one more they are not', async () => {
    mkdirSync(shelf.at('many'));
    for (let n = 0; n < 50_000; n++) linkSync(shelf.at('any'), shelf.at('many', `${n}`));
    const { entries } = await shelf.call<{ entries: unknown[] }>('fs/readDirectory', { path: shelf.uri('many') });
    expect(entries.length).toBe(50_000);
    writeFileSync(shelf.at('many', 'more'), '');
    expect(await refusal(shelf.call('fs/readDirectory', { path: shelf.uri('many') }))).toEqual({
      code: -32603,
      message: 'fs/readDirectory returned 50001 entries; limit is 50000',
    });
    await shelf.call('fs/remove', { path: shelf.uri('many') });
    expect(existsSync(shelf.at('many'))).toBe(false);
  });

  it('are removed however deep they are, with few descriptors', async () => {
    await using frugal = await Shelf.open();
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
      mkdirSync(shelf.at(name), { recursive: true });
      writeFileSync(shelf.at(name, 'file'), name);
    }
    const copyOf = (name: string) => shelf.at(name.replace('many-directories', 'copied-directories'), 'file');

    const [path, destinationPath] = [shelf.uri('many-directories'), shelf.uri('copied-directories')];
    await shelf.call('fs/copy', { sourcePath: path, destinationPath, recursive: true });
    await shelf.call('fs/remove', { path });

    expect(existsSync(shelf.at('many-directories'))).toBe(false);
    expect(names.map((name) => readFileSync(copyOf(name), 'utf8'))).toEqual(names);
  });

  it('behind a link stay when the link is removed', async () => {
    mkdirSync(shelf.at('kept'));
    writeFileSync(shelf.at('kept', 'f'), '');
    symlinkSync('kept', shelf.at('to-kept'));
    await shelf.call('fs/remove', { path: shelf.uri('to-kept') });
    expect({ link: existsSync(shelf.at('to-kept')), file: existsSync(shelf.at('kept', 'f')) }).toEqual({
      link: false,
      file: true,
    });
  });

  it('are copied with links as links and files with their modes', async () => {
    mkdirSync(shelf.at('from/sub'), { recursive: true });
    writeFileSync(shelf.at('from/sub/run'), '#!/bin/sh\n');
    chmodSync(shelf.at('from/sub/run'), 0o751);
    symlinkSync('sub/run', shelf.at('from/link'));
    fifo('from/pipe');
    const large = randomBytes(300_000);
    writeFileSync(shelf.at('from/large'), large);
    await shelf.call('fs/copy', { sourcePath: shelf.uri('from'), destinationPath: shelf.uri('to'), recursive: true });
    expect(statSync(shelf.at('to/sub/run')).mode & 0o7777).toBe(0o751);
    expect(lstatSync(shelf.at('to/link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(shelf.at('to/large')).equals(large)).toBe(true);
    expect(existsSync(shelf.at('to/pipe'))).toBe(false);
  });

  it('are not copied into themselves, not even behind a link', async () => {
    mkdirSync(shelf.at('self/inner'), { recursive: true });
    symlinkSync('self/inner', shelf.at('door'));
    const params = { sourcePath: shelf.uri('self'), destinationPath: shelf.uri('door/x/y'), recursive: true };
    expect(await refusal(shelf.call('fs/copy', params))).toEqual({
      code: -32600,
      message: 'fs/copy cannot copy a directory to itself or one of its descendants',
    });
  });

  it('are copied below directories that are not there yet', async () => {
    mkdirSync(shelf.at('origin'));
    const destinationPath = shelf.uri('not/yet/there');
    await shelf.call('fs/copy', { sourcePath: shelf.uri('origin'), destinationPath, recursive: true });
    expect(statSync(shelf.at('not/yet/there')).isDirectory()).toBe(true);
  });

  it('have links that lead nowhere, which a walk does not count', async () => {
    mkdirSync(shelf.at('counted'));
    symlinkSync('nowhere', shelf.at('counted/a'));
    writeFileSync(shelf.at('counted/b'), '');
    const options = { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false };
    expect(await shelf.call('fs/walk', { path: shelf.uri('counted'), options })).toEqual({
      entries: [{ path: shelf.uri('counted/b'), kind: 'file' }],
      errors: [],
      truncated: false,
    });
  });

  it('leave a file that is copied onto itself as it is', async () => {
    await shelf.write('same', 'content');
    linkSync(shelf.at('same'), shelf.at('same2'));
    await shelf.call('fs/copy', {
      sourcePath: shelf.uri('same'),
      destinationPath: shelf.uri('same2'),
      recursive: false,
    });
    expect(readFileSync(shelf.at('same'), 'utf8')).toBe('content');
  });
});

describe('a watch for missing paths', () => {
  const changed = (watchId: number) =>
    shelf.client.strayUntil(
      (message) => 'method' in message && (message.params as { watchId?: number }).watchId === watchId,
    );

  it('sees a path appear when a directory is moved into place', async () => {
    mkdirSync(shelf.at('stage/b'), { recursive: true });
    writeFileSync(shelf.at('stage/b/c'), '');
    const params = { watchId: 1, missing: [shelf.uri('arrived/b/c')] };
    expect(await shelf.client.call('fs/watchMissing', params)).toEqual({ watching: true });
    execFileSync('mv', [shelf.at('stage'), shelf.at('arrived')]);
    await changed(1);
  });

  it('sees the present path go away', async () => {
    writeFileSync(shelf.at('present'), '');
    const params = { watchId: 2, missing: [shelf.uri('never')], present: shelf.uri('present') };
    expect(await shelf.client.call('fs/watchMissing', params)).toEqual({ watching: true });
    execFileSync('rm', [shelf.at('present')]);
    await changed(2);
  });
});
