import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testSandboxes } from '../../../test/support/host.ts';
import { PathUri } from '../../protocol/index.ts';
import { LocalFileSystem } from './local-file-system.ts';

let folder: string;
let files: LocalFileSystem;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-local-')));
  files = new LocalFileSystem({ sandboxes: testSandboxes() });
});
afterAll(async () => {
  await files[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const limits = { maxDepth: 8, maxDirectories: 100, maxEntries: 1000, followDirectorySymlinks: false };

// The standard for URLs has changed its mind about ^, and with it Node: either spelling is right.
/** A name of any bytes that a name may have. */
const fileName = fc
  .uint8Array({ minLength: 1, maxLength: 20 })
  .map((bytes) => Buffer.from(bytes.map((byte) => ([0x00, 0x2f, 0x5e].includes(byte) ? 0x7e : byte))))
  .filter((name) => !/^\.{1,2}$/.test(name.toString('latin1')));

const textName = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 15 })
  .map((name) => name.replace(/[\0/^]/g, '~'))
  .filter((name) => Buffer.from(name).toString() === name && !/^\.{1,2}$/.test(name)); // no half characters

describe('names', () => {
  it('of any bytes have the same URI from canonicalize as from PathUri', async () => {
    await fc.assert(
      fc.asyncProperty(fileName, async (name) => {
        const path = Buffer.concat([Buffer.from(`${folder}/`), name]);
        writeFileSync(path, '');
        expect((await files.canonicalize(PathUri.fromNative(path))).href).toBe(PathUri.fromNative(path).href);
        rmSync(path);
      }),
      { numRuns: 300 },
    );
  });

  it('of any characters have the same URI from walk, and the same name from readDirectory, as from PathUri', async () => {
    await fc.assert(
      fc.asyncProperty(textName, async (name) => {
        const root = join(folder, 'walked');
        mkdirSync(root);
        writeFileSync(`${root}/${name}`, '');
        const uri = PathUri.fromNative(root);
        expect((await files.walk(uri, limits)).entries.map(({ path }) => path.href)).toEqual([
          PathUri.fromNative(`${root}/${name}`).href,
        ]);
        expect(await files.readDirectory(uri)).toEqual([{ fileName: name, isDirectory: false, isFile: true }]);
        await files.remove(uri);
      }),
      { numRuns: 300 },
    );
  });

  it('that are not UTF-8 are shown with replacement characters', async () => {
    await fc.assert(
      fc.asyncProperty(fileName, async (name) => {
        const root = join(folder, 'shown');
        mkdirSync(root);
        writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), '');
        const [entry] = await files.readDirectory(PathUri.fromNative(root));
        expect(entry?.fileName).toBe(name.toString('utf8'));
        await files.remove(PathUri.fromNative(root));
      }),
      { numRuns: 300 },
    );
  });
});

describe('a stream', () => {
  it('carries a file of several blocks there and back', async () => {
    const path = PathUri.fromNative(join(folder, 'streamed'));
    const content = Buffer.from(Array.from({ length: 2_500_001 }, (_, n) => n % 251));
    expect(await files.write(path, [content.subarray(0, 10), content.subarray(10)])).toBe(content.length);
    const blocks: Uint8Array[] = [];
    for await (const block of files.read(path)) blocks.push(block);
    expect(Buffer.concat(blocks).equals(content)).toBe(true);
  });

  it('that is left early closes its file', async () => {
    const path = PathUri.fromNative(join(folder, 'short'));
    await files.writeFile(path, Buffer.from('short'));
    for (let n = 0; n < 150; n++) {
      for await (const _block of files.read(path)) break; // more often than files may be open
    }
  });

  it('fails with the error of the file', async () => {
    const path = PathUri.fromNative(join(folder, 'nowhere', 'f'));
    await expect(files.write(path, [])).rejects.toMatchObject({ kind: 'notFound' });
    await expect(files.read(path).next()).rejects.toMatchObject({ kind: 'notFound' });
  });
});
