import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { connect } from '../support/wire-client.ts';

// Answers that were compared with those of the reference, one by one.

let folder: string;
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'exec-server-answers-')));
  await mkdir(join(folder, 'd'));
  await writeFile(join(folder, 'd/f'), 'x');
  return () => rm(folder, { recursive: true, force: true });
});

describe('a file URI with dot segments', () => {
  it.each(['/./d/', '/d/.', '/%2e/d', '/d/%2E', '/d/x/..', '/d/.%2e/d', '/%2E%2e/$/d'])(
    'is normalised: %s is d',
    async (path) => {
      await using client = await connect(server.url);
      const uri = `file://${folder}${path.replace('$', folder.split('/').at(-1)!)}`;
      expect(await client.call('fs/readDirectory', { path: uri })).toEqual({
        entries: [{ fileName: 'f', isDirectory: false, isFile: true }],
      });
    },
  );

  it('names the directory itself for fs/remove', async () => {
    await using client = await connect(server.url);
    for (const spelling of ['void/.', 'void/%2e', 'void/./']) {
      await mkdir(join(folder, 'void'));
      await client.call('fs/remove', { path: `file://${folder}/${spelling}`, force: false });
      expect(existsSync(join(folder, 'void'))).toBe(false);
    }
    expect(await readdir(folder)).toEqual(['d']);
  });
});

it('a path in an answer has no empty segments', async () => {
  await using client = await connect(server.url);
  const read = client.call('fs/readFile', { path: `file://${folder}//d//` });
  await expect(read).rejects.toMatchObject({ message: `path \`${folder}/d\` is not a file` });
});

describe('a string with half of a surrogate pair', () => {
  it.each([
    '{"id":5,"method":"environment/status","x":"\\ud83d"}',
    '{"id":5,"method":"environment/status","params":{"\\uDC00":1}}',
    '{"id":"\\ud800","method":"environment/status"}',
    '{"id":5,"method":"environment/status","params":{"a":["\\ud83dx\\ude00"]}}',
  ])('makes a message malformed: %s', async (text) => {
    await using client = await connect(server.url);
    client.raw(text);
    const answer = await client.strayUntil((message) => 'id' in message);
    expect(answer).toMatchObject({ id: -1, error: { code: -32600 } });
  });

  it('is none when the other half follows, or when the backslash is a character', async () => {
    await using client = await connect(server.url);
    client.raw('{"id":"\\ud83d\\ude00 \\\\ud800","method":"environment/status"}');
    expect(await client.strayUntil((message) => 'id' in message)).toMatchObject({ id: '😀 \\ud800' });
  });
});

describe('a start that cannot succeed', () => {
  it.each([
    [{ argv: [], cwd: 'file://host/x' }, -32602, /^cwd URI `file:\/\/host\/x` is not valid/],
    [{ argv: [''], tty: true }, -32603, /^missing program for PTY spawn$/],
    [{ argv: [''], tty: false }, -32603, /^missing program for pipe spawn$/],
    [{ argv: ['/nowhere/x'], tty: true }, -32603, /^No such file or directory \(os error 2\)$/],
    [{ argv: ['./nowhere'], tty: true }, -32603, /^Unable to spawn \/\.\/nowhere because it does not exist$/],
    [
      { argv: ['nowhere'], tty: true, env: {} },
      -32603,
      /^Unable to spawn nowhere because:\nUnable to resolve the PATH$/,
    ],
    [
      { argv: ['passwd'], tty: true, env: { PATH: '/etc' } },
      -32603,
      /^Unable to spawn passwd because:\n\/etc\/passwd exists but is not executable\.\nNo viable candidates found in PATH "\/etc"$/,
    ],
  ])('says why in the words of the reference: %j', async (options, code, message) => {
    await using client = await connect(server.url);
    const failed = client.call('process/start', {
      processId: 'p',
      cwd: 'file:///',
      env: { PATH: '/bin' },
      tty: false,
      ...options,
    });
    await expect(failed).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

it('an id in use is named before a program that cannot be started', async () => {
  await using client = await connect(server.url);
  const { id } = await client.start({ argv: ['sleep', '900'] });
  const again = client.call('process/start', { processId: id, argv: [''], cwd: 'file:///', env: {}, tty: true });
  await expect(again).rejects.toMatchObject({ code: -32600, message: `process ${id} already exists` });
});

it('an empty write to a process that has ended is accepted', async () => {
  await using client = await connect(server.url);
  const ended = await client.start({ argv: ['true'], pipeStdin: true });
  await ended.closed();
  const written = client.call('process/write', { processId: ended.id, writeId: '1', chunk: '' });
  await expect(written).resolves.toEqual({ status: 'accepted' });
});
