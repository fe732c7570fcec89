import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';

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
  it.each(['/./d/', '/d/.', '/%2e/d', '/d/%2E', '/d/x/..', '/d/.%2e/d', '/%2E%2e/$/d', '/.x/../d', '/d/.x/..'])(
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

describe('dot segments between escaped slashes', () => {
  it.each(['d%2f.', 'none%2f..%2fd', 'd%2ff%2f..', 'd%2f%2e%2e%2fd', 'none%2F..%2F$%2f..%2fd'])(
    'are applied to the text alone, whatever is there: %s is d',
    async (path) => {
      await using client = await connect(server.url);
      const uri = `file://${folder}/${path.replace('$', 'link')}`;
      await symlink('/', join(folder, 'link'));
      expect(await client.call('fs/readDirectory', { path: uri })).toEqual({
        entries: [{ fileName: 'f', isDirectory: false, isFile: true }],
      });
    },
  );

  it('are applied before a command gets its directory, and before a watch looks', async () => {
    await using client = await connect(server.url);
    const command = await client.start({ argv: ['pwd'], cwd: `file://${folder}/none%2f..%2fd` });
    await command.closed();
    expect(command.output()).toBe(`${folder}/d\n`);
    const watch = (watchId: number, name: string) =>
      client.call('fs/watchMissing', { watchId, missing: [`file://${folder}/${name}`] });
    expect([await watch(1, 'd%2f..%2fx'), await watch(2, 'd%2ff%2f..%2fx'), await watch(3, 'none%2f..')]).toEqual([
      { watching: true },
      { watching: true },
      { watching: false },
    ]);
  });
});

describe('a block', () => {
  it('that would end beyond the greatest offset is refused before its handle is looked up', async () => {
    await using client = await connect(server.url);
    client.raw(
      '{"id":77,"method":"fs/writeBlock","params":{"handleId":"h","offset":9223372036854775807,"chunk":"YQ=="}}',
    );
    expect(await client.strayUntil((message) => 'id' in message)).toMatchObject({
      error: { code: -32600, message: 'file write range exceeds the signed 64-bit file offset limit' },
    });
    const unknown = client.call('fs/writeBlock', { handleId: 'h', offset: 2 ** 62, chunk: 'YQ==' });
    await expect(unknown).rejects.toMatchObject({ code: -32004 });
  });

  it('at the greatest offset of a file that is open for writing is refused for that reason', async () => {
    await using client = await connect(server.url);
    await client.call('fs/open', { handleId: 'h', path: `file://${folder}/made`, mode: 'replace' });
    client.raw('{"id":77,"method":"fs/readBlock","params":{"handleId":"h","offset":9223372036854775807,"len":1}}');
    expect(await client.strayUntil((message) => 'id' in message)).toMatchObject({
      error: { code: -32603, message: 'Bad file descriptor (os error 9)' },
    });
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
    [
      { argv: ['etc'], tty: true, env: { PATH: '' } },
      -32603,
      /^Unable to spawn etc because:\n\/etc exists but is a directory\.\nNo viable candidates found in PATH ""$/,
    ],
    [
      { argv: ['./none'], tty: true, cwd: 'file:///etc//init.d/..//' },
      -32603,
      /^Unable to spawn \/etc\/\.\/none because /,
    ],
    [
      { argv: ['sh', '-c', 'exit'], tty: true, env: {} },
      -32603,
      /^Unable to spawn sh because:\nUnable to resolve the PATH$/,
    ],
    [
      { argv: ['s\0h'], tty: true },
      -32603,
      /^Unable to spawn s\0h because:\nNo viable candidates found in PATH "\/bin"$/,
    ],
    [{ argv: ['sh', 'a\0b'], tty: true }, -32603, /^nul byte found in provided data$/],
    [{ argv: ['sh'], tty: true, env: { PATH: '/bin', A: 'a\0b' } }, -32603, /^nul byte found in provided data$/],
    [{ argv: ['/nowhere'], tty: true, env: { 'A\0': '' } }, -32603, /^data provided contains a nul byte$/],
    [{ argv: ['sh'], tty: false, env: { PATH: '/bin', A: 'a\0b' } }, -32603, /^data provided contains a nul byte$/],
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

it.each([
  { shellSnapshot: { scopeId: 's', shell: { name: 'bash', path: '/bin/bash' } } },
  {
    sandbox: {
      permissions: {
        type: 'managed',
        file_system: {
          type: 'restricted',
          entries: [
            { path: { type: 'special', value: { kind: 'root' } }, access: 'read' },
            { path: { type: 'glob_pattern', pattern: '/nowhere/**/x' }, access: 'deny' },
          ],
        },
        network: 'restricted',
      },
      cwd: 'file:///',
    },
  },
])('an id in use is named before the preparations of a start: %j', async (prepared) => {
  await using client = await connect(server.url);
  const { id } = await client.start({ argv: ['sleep', '900'] });
  const again = client.call('process/start', {
    processId: id,
    argv: ['/bin/bash', '-lc', 'echo'],
    arg0: 'a\0b',
    cwd: 'file:///',
    env: {},
    tty: false,
    ...prepared,
  });
  await expect(again).rejects.toMatchObject({ code: -32600, message: `process ${id} already exists` });
});

it('an empty write to a process that has ended is accepted', async () => {
  await using client = await connect(server.url);
  const ended = await client.start({ argv: ['true'], pipeStdin: true });
  await ended.closed();
  const written = client.call('process/write', { processId: ended.id, writeId: '1', chunk: '' });
  await expect(written).resolves.toEqual({ status: 'accepted' });
});

describe('a watch for missing paths', () => {
  it.each([
    ['below a file', ['d/f/x'], undefined],
    ['with a name that is too long', ['n'.repeat(300)], undefined],
    ['through a link', ['link/x'], undefined],
    ['beside a link that must stay', ['x'], 'link'],
    ['beside a link to nothing', ['x'], 'dangling'],
    ['for a link to nothing, even with a slash after it', ['dangling/'], undefined],
    ['below more than 64 directories', [`deep${'/er'.repeat(64)}`], undefined],
    ['below more than 64 directories together', Array.from({ length: 64 }, (_, index) => `d${index}/x`), undefined],
  ])('watches nothing %s', async (_, missing, present) => {
    await symlink('d', join(folder, 'link'));
    await symlink('nothing', join(folder, 'dangling'));
    await using client = await connect(server.url);
    const uri = (name: string) => `file://${folder}/${name}`;
    const watch = { watchId: 1, missing: missing.map(uri), ...(present !== undefined && { present: uri(present) }) };
    expect(await client.call('fs/watchMissing', watch)).toEqual({ watching: false });
  });

  it('may have a slash after a file that must stay', async () => {
    await using client = await connect(server.url);
    const watch = { watchId: 1, missing: [`file://${folder}/x`], present: `file://${folder}/d/f/.` };
    expect(await client.call('fs/watchMissing', watch)).toEqual({ watching: true });
  });

  it.each(['file:///C:/x', 'file://host/x'])('watches nothing on another host: %s', async (path) => {
    await using client = await connect(server.url);
    const beside = client.call('fs/watchMissing', { watchId: 1, missing: [`file://${folder}/x`], present: path });
    await expect(beside).resolves.toEqual({ watching: false });
    const missing = client.call('fs/watchMissing', { watchId: 2, missing: [path] });
    await expect(missing).resolves.toEqual({ watching: false });
  });
});

it('a handle that is in use is named before a sandbox that cannot be', async () => {
  await using client = await connect(server.url);
  const path = `file://${folder}/d/f`;
  await client.call('fs/open', { handleId: 'h', path });
  const permissions = { type: 'managed', file_system: { type: 'restricted', entries: [] }, network: 'restricted' };
  const sandbox = { permissions, windowsSandboxLevel: 'disabled', cwd: 'file:///C:/x' };
  const again = (handleId: string) => client.call('fs/open', { handleId, path, sandbox });
  await expect(again('h')).rejects.toMatchObject({ message: 'file handle `h` already exists' });
  await expect(again('h'.repeat(33))).rejects.toMatchObject({ message: 'file handle ID must not exceed 32 bytes' });
  await expect(again('other')).rejects.toMatchObject({ message: "'file:///C:/x' is invalid on 'linux'" });
  const entries = [{ path: { type: 'special', value: { kind: 'project_roots' } }, access: 'write' }];
  const dynamic = { ...permissions, file_system: { type: 'restricted', entries } };
  const without = { permissions: dynamic, windowsSandboxLevel: 'disabled' };
  const unclear = client.call('fs/open', { handleId: 'h', path, sandbox: without });
  await expect(unclear).rejects.toMatchObject({ message: expect.stringMatching(/ requires cwd$/) });
});

describe('a sandbox that names a place of another host', () => {
  const readOnly = {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
    },
    network: 'restricted',
  };
  const sandbox = { permissions: readOnly, windowsSandboxLevel: 'disabled' };
  const foreign = "'file:///C:/x' is invalid on 'linux'";

  it.each([
    [{ cwd: 'file:///C:/x' }, 'sandbox cwd URI `file:///C:/x`', foreign],
    [
      { workspaceRoots: ['file:///C:/x'] },
      'sandbox workspace root URI `file:///C:/x`',
      `file system sandbox workspace root is not native to this exec-server host: ${foreign}`,
    ],
  ])('is refused, whatever its entries ask for: %j', async (place, started, written) => {
    await using client = await connect(server.url);
    await expect(client.start({ argv: ['true'], sandbox: { ...sandbox, ...place } })).rejects.toMatchObject({
      code: -32602,
      message: `${started} is not valid on this exec-server host: ${foreign}`,
    });
    const path = `file://${folder}/d/f`;
    const write = client.call('fs/writeFile', { path, dataBase64: '', sandbox: { ...sandbox, ...place } });
    await expect(write).rejects.toMatchObject({ code: -32600, message: written });
    // What needs no helper needs no place.
    await client.call('fs/readFile', { path, sandbox: { ...sandbox, ...place } });
  });

  it.each([
    ['fs/createDirectory', { path: 'file://host/x' }],
    ['fs/open', { path: 'file://host/x', handleId: 'h', mode: 'replace' }],
    ['fs/copy', { sourcePath: 'file:///x', destinationPath: 'file://host/x', recursive: false }],
  ])('is named after the path of a call that is of another host as well: %s', async (method, params) => {
    await using client = await connect(server.url);
    const call = client.call(method, { ...params, sandbox: { ...sandbox, cwd: 'file:///C:/x' } });
    await expect(call).rejects.toMatchObject({ message: "'file://host/x' is invalid on 'linux'" });
  });

  it('lets nothing be removed that is not there, read-only or not', async () => {
    await using client = await connect(server.url);
    const remove = (name: string, force: boolean) =>
      client.call('fs/remove', { path: `file://${folder}/${name}`, force, sandbox });
    await expect(remove('none', true)).resolves.toEqual({});
    await expect(remove('none', false)).rejects.toMatchObject({ code: -32004 });
    await expect(remove('d', true)).rejects.toMatchObject({ message: 'Read-only file system (os error 30)' });
  });
});

it.each([
  ['0', 'invalid value: integer `0`, expected a nonzero usize'],
  ['-1', 'invalid value: integer `-1`, expected a nonzero usize'],
  ['1.5', 'invalid type: number, expected a nonzero usize'],
])('a sandbox cannot look for patterns %s directories deep', async (depth, message) => {
  await using client = await connect(server.url);
  const fileSystem = `{"type":"restricted","entries":[],"glob_scan_max_depth":${depth}}`;
  const sandbox = `{"permissions":{"type":"managed","file_system":${fileSystem},"network":"restricted"}}`;
  client.raw(`{"id":5,"method":"fs/readFile","params":{"path":"file://${folder}/d/f","sandbox":${sandbox}}}`);
  const answer = await client.strayUntil((answer) => 'id' in answer);
  expect(answer).toMatchObject({ id: 5, error: { code: -32602, message } });
});

it('a directory that a sandbox makes read-only is not removed because it is read-only, empty or not', async () => {
  await using client = await connect(server.url);
  const remove = (name: string, access: string) => {
    const entries = [
      { path: { type: 'special', value: { kind: 'root' } }, access: 'read' },
      { path: { type: 'path', path: `file://${folder}` }, access: 'write' },
      { path: { type: 'path', path: `file://${folder}/${name}` }, access },
    ];
    const permissions = { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' };
    return client.call('fs/remove', { path: `file://${folder}/${name}`, recursive: true, sandbox: { permissions } });
  };
  await mkdir(join(folder, 'hollow'));
  await expect(remove('d', 'read')).rejects.toMatchObject({ message: 'Read-only file system (os error 30)' });
  await expect(remove('hollow', 'read')).rejects.toMatchObject({ message: 'Read-only file system (os error 30)' });
});

it('a discovery whose sandbox lacks its directory is refused as a whole', async () => {
  await using client = await connect(server.url);
  const entries = [{ path: { type: 'special', value: { kind: 'project_roots' } }, access: 'write' }];
  const permissions = { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' };
  const root = { id: 'r', path: `file://${folder}`, sandbox: { permissions, windowsSandboxLevel: 'disabled' } };
  await expect(client.call('capabilityRoots/discoverV1', { roots: [root] })).rejects.toMatchObject({
    code: -32602,
    message: 'file system sandbox context with dynamic permissions requires cwd',
  });
});

it('a bar after a letter is part of a name after three slashes, and a drive elsewhere', async () => {
  await using client = await connect(server.url);
  await expect(client.call('fs/readFile', { path: 'file:///c|/x' })).rejects.toMatchObject({ code: -32004 });
  await expect(client.call('fs/getMetadata', { path: 'file:///c|/..' })).rejects.toMatchObject({ code: -32004 });
  await expect(client.call('fs/readFile', { path: 'file:/c|/x' })).rejects.toMatchObject({ code: -32600 });
});
