import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { childrenOf, gone, isAlive } from '../../support/proc.ts';
import { prepared } from '../../support/server.ts';
import { base64, connect, text } from '../../support/wire-client.ts';
import {
  accounts,
  glob,
  path,
  readOnly,
  restrictedRead,
  SandboxFixture,
  uri,
  workspaceWrite,
} from '../sandbox/fixture.ts';
import { refusal } from './fixture.ts';

/** The helpers below a server, found by their program. */
function helpers(server: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const [program = ''] = lines(pid, 'cmdline');
    return basename(program) === 'fs-helper' && isAlive(pid) && ancestors(pid).includes(server);
  });
}

/** The launchers that a server keeps waiting: below them runs nothing yet. */
function waiting(server: number): number[] {
  const launchers = childrenOf(server).filter(({ pid }) => lines(pid, 'cmdline')[0] === 'bwrap');
  return launchers.map(({ pid }) => pid).filter((pid) => isAlive(pid) && childrenOf(pid).length === 0);
}

function lines(pid: number, file: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1').split('\0');
  } catch {
    return []; // it has ended
  }
}

function ancestors(pid: number): number[] {
  const found: number[] = [];
  for (let at = pid; at > 1; ) {
    const [stat = ''] = lines(at, 'stat');
    at = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
    found.push(at);
  }
  return found;
}

describe.each(accounts)('a sandboxed filesystem call of a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account, { SERVER_SECRET: 'do-not-show', EXEC_SERVER_LOG: 'debug' });
    await prepared(fixture.server);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const sandbox = (entries: readonly object[]) => ({
    permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
    windowsSandboxLevel: 'disabled',
    cwd: uri(fixture.workspace),
    workspaceRoots: [uri(fixture.workspace)],
  });
  const read = (path: string, entries: readonly object[]) =>
    fixture.client.call<{ dataBase64: string }>('fs/readFile', { path: uri(path), sandbox: sandbox(entries) });
  const write = (path: string, content: string | Uint8Array, entries: readonly object[] = workspaceWrite) => {
    if (!path.startsWith(fixture.at(''))) throw new Error(`${path} is not in the fixture`);
    const params = { path: uri(path), dataBase64: base64(content), sandbox: sandbox(entries) };
    return fixture.client.call('fs/writeFile', params);
  };

  it.each([true, false])(
    'does not open a pipe, which opening alone would change, follows links: %s',
    async (followSymlinks) => {
      execFileSync('mkfifo', [fixture.at('outside/pipe')]);
      const writer = spawn('sh', ['-c', 'echo kept > "$0"', fixture.at('outside/pipe')]);
      onTestFinished(() => void writer.kill('SIGKILL'));
      for (let round = 0; round < 20; round++) {
        const params = { path: uri(fixture.at('outside/pipe')), followSymlinks, sandbox: sandbox(readOnly) };
        await expect(fixture.client.call('fs/readFile', params)).rejects.toThrow(/not a (?:regular )?file/);
        await delay(20);
      }
      const { stdout } = spawnSync('timeout', ['5', 'cat', fixture.at('outside/pipe')], { encoding: 'utf8' });
      expect(stdout).toBe('kept\n');
    },
  );

  it('finds no device but the one that swallows everything', async () => {
    const call = (method: string, path: string, more: object = {}) =>
      fixture.client.call<{ entries: { fileName: string }[] }>(method, {
        path: uri(path),
        sandbox: sandbox(restrictedRead),
        ...more,
      });
    const { entries } = await call('fs/readDirectory', '/dev');
    expect(entries.map(({ fileName }) => fileName).sort()).toEqual(['.exec-server', 'null']);
    await call('fs/writeFile', '/dev/null', { dataBase64: base64('x') });
    expect(await refusal(call('fs/createDirectory', '/dev/new'))).toMatchObject({ code: -32600 });
  });

  it('writes where it may and nowhere else', async () => {
    await write(`${fixture.workspace}/new`, 'inside');
    expect(readFileSync(`${fixture.workspace}/new`, 'utf8')).toBe('inside');
    expect(await refusal(write(`${fixture.outside}/new`, 'x'))).toEqual({
      code: -32603,
      message: 'Read-only file system (os error 30)',
    });
  });

  it.each([
    ['in a writable place', workspaceWrite],
    ['in a read-only place', readOnly],
  ])('is told of a denied directory %s that it is denied when it wants to remove it', async (_where, entries) => {
    const denied = `${fixture.workspace}/denied`;
    mkdirSync(`${denied}/inner`, { recursive: true });
    const deny = { path: { type: 'path', path: uri(denied) }, access: 'deny' };
    const params = { path: uri(denied), sandbox: sandbox([...entries, deny]) };
    expect(await refusal(fixture.client.call('fs/remove', params))).toEqual({
      code: -32600,
      message: 'Permission denied (os error 13)',
    });
    expect(readdirSync(denied)).toEqual(['inner']);
  });

  it('goes through one helper per policy, however many calls there are at once', async () => {
    const before = helpers(fixture.server.pid);
    await Promise.all(Array.from({ length: 100 }, (_, n) => write(`${fixture.workspace}/f${n % 10}`, `${n}`)));
    expect(helpers(fixture.server.pid).length - before.length).toBe(1);
    await read(`${fixture.workspace}/a.txt`, restrictedRead);
    expect(helpers(fixture.server.pid).length - before.length).toBe(2);
  });

  it('is served by the launcher that waited for it, and another takes its place', async () => {
    await expect.poll(() => waiting(fixture.server.pid).length).toBe(1);
    const [launcher] = waiting(fixture.server.pid);
    await using client = await connect(fixture.server.url);
    const known = helpers(fixture.server.pid);
    await client.call('fs/readFile', { path: uri(`${fixture.workspace}/a.txt`), sandbox: sandbox(restrictedRead) });
    const [helper] = helpers(fixture.server.pid).filter((pid) => !known.includes(pid));
    expect(ancestors(helper!)[0]).toBe(launcher);
    await expect.poll(() => waiting(fixture.server.pid).length).toBe(1);
  });

  it('does without a launcher that died while it waited', async () => {
    await expect.poll(() => waiting(fixture.server.pid).length).toBe(1);
    const [launcher] = waiting(fixture.server.pid);
    process.kill(launcher!, 'SIGKILL');
    await expect.poll(() => childrenOf(fixture.server.pid).map(({ pid }) => pid)).not.toContain(launcher);
    await using client = await connect(fixture.server.url);
    const params = { path: uri(`${fixture.workspace}/a.txt`), sandbox: sandbox(restrictedRead) };
    expect(await client.call('fs/readFile', params)).toEqual({ dataBase64: base64('a\n') });
    await expect.poll(() => waiting(fixture.server.pid).length).toBe(1);
  });

  it('may be denied more files than a waiting launcher is ready for', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `${fixture.workspace}/secret${n}`);
    for (const name of names) writeFileSync(name, 'secret');
    const entries = [...restrictedRead, ...names.map((name) => path(name, 'deny'))];
    expect(text((await read(`${fixture.workspace}/a.txt`, entries)).dataBase64)).toBe('a\n');
    for (const name of names) expect(await refusal(read(name, entries))).toMatchObject({ code: -32600 });
  });

  it('finds the directory that has taken the place of another', async () => {
    await write(`${fixture.workspace}/f`, 'before');
    fixture.reset();
    await write(`${fixture.workspace}/f`, 'after');
    expect(readFileSync(`${fixture.workspace}/f`, 'utf8')).toBe('after');
  });

  it.each([
    { how: 'by its path', replaced: 'keys/.env', deny: (file: string) => path(file, 'deny') },
    { how: 'by a pattern', replaced: 'keys/.env', deny: () => glob('**/*.env') },
    { how: 'with its directory', replaced: 'keys', deny: (file: string) => path(posix.dirname(file), 'deny') },
  ])('may not read a file that is denied $how and replaced by rename', async ({ replaced, deny }) => {
    const save = (folder: string) => {
      fixture.mkdir(`workspace/${folder}`);
      fixture.write(`workspace/${folder}/.env`, 'TOKEN');
    };
    const file = `${fixture.workspace}/keys/.env`;
    const entries = [...readOnly, deny(file)];
    save('keys');
    expect(await refusal(read(file, entries))).toMatchObject({ code: -32600 });

    save('new');
    if (replaced === 'keys') renameSync(`${fixture.workspace}/keys`, `${fixture.workspace}/old`);
    renameSync(`${fixture.workspace}/${replaced.replace('keys', 'new')}`, `${fixture.workspace}/${replaced}`);
    expect(await refusal(read(file, entries))).toMatchObject({ code: -32600 });
  });

  it('may not touch a repository that was made after the last one', async () => {
    fixture.mkdir('workspace/inner');
    const inner = { ...sandbox(workspaceWrite), workspaceRoots: [uri(fixture.at('workspace/inner'))] };
    const params = (name: string) => ({
      path: uri(fixture.at(`workspace/inner/${name}`)),
      dataBase64: '',
      sandbox: inner,
    });
    await fixture.client.call('fs/writeFile', params('f'));
    fixture.mkdir('workspace/inner/.git');
    fixture.write('workspace/inner/.git/config', '');
    expect(await refusal(fixture.client.call('fs/writeFile', params('.git/config')))).toEqual({
      code: -32603,
      message: 'Read-only file system (os error 30)',
    });
  });

  it('fails when its helper is killed, and the next one succeeds', async () => {
    await write(`${fixture.workspace}/a.txt`, '1');
    const before = helpers(fixture.server.pid);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await gone(before);
    // Whether the server knows already is a race that both sides of may win.
    const outcome = await write(`${fixture.workspace}/a.txt`, '2').then(
      () => undefined,
      (error: Error) => error.message,
    );
    expect(outcome ?? 'fs sandbox helper failed').toMatch(/^fs sandbox helper failed/);
    await write(`${fixture.workspace}/a.txt`, '3');
    expect(readFileSync(`${fixture.workspace}/a.txt`, 'utf8')).toBe('3');
  });

  it('leaves no helper behind when its client goes', async () => {
    const client = await connect(fixture.server.url);
    const known = helpers(fixture.server.pid);
    await client.call('fs/readFile', { path: uri(`${fixture.workspace}/a.txt`), sandbox: sandbox(restrictedRead) });
    const own = helpers(fixture.server.pid).filter((pid) => !known.includes(pid));
    expect(own.length).toBe(1);
    await client[Symbol.asyncDispose]();
    await gone(own);
  });

  it('starts no helper for a request whose turn comes when its client is gone', async () => {
    const client = await connect(fixture.server.url);
    const known = helpers(fixture.server.pid);
    const params = { path: uri(`${fixture.workspace}/held`), sandbox: sandbox(workspaceWrite) };
    await client.call('fs/createDirectory', params);
    const own = helpers(fixture.server.pid).filter((pid) => !known.includes(pid));
    for (const pid of own) process.kill(pid, 'SIGSTOP');
    void client.call('fs/remove', params);
    void client.call('fs/createDirectory', params); // waits for the one before it
    await client.call('environment/info'); // by now both have come
    await client[Symbol.asyncDispose]();
    await gone(own);
    await delay(300); // as long as a helper takes to start

    expect(helpers(fixture.server.pid)).toEqual(known);
  });

  it('carries files of any size', async () => {
    const content = randomBytes(5_000_001);
    await write(`${fixture.workspace}/large`, content);
    expect(readFileSync(`${fixture.workspace}/large`).equals(content)).toBe(true);
    const { dataBase64 } = await read(`${fixture.workspace}/large`, restrictedRead);
    expect(Buffer.from(dataBase64, 'base64').equals(content)).toBe(true);
  });

  it('streams through a handle that the helper holds', async () => {
    const open = { path: uri(`${fixture.workspace}/streamed`), sandbox: sandbox(workspaceWrite) };
    await fixture.client.call('fs/open', { handleId: 'w', mode: 'replace', ...open });
    await fixture.client.call('fs/writeBlock', { handleId: 'w', offset: 3, chunk: base64('def') });
    await fixture.client.call('fs/writeBlock', { handleId: 'w', offset: 0, chunk: base64('abc') });
    await fixture.client.call('fs/close', { handleId: 'w' });
    await fixture.client.call('fs/open', { handleId: 'r', ...open, sandbox: sandbox(restrictedRead) });
    const block = await fixture.client.call('fs/readBlock', { handleId: 'r', offset: 1, len: 10 });
    expect({ ...block, chunk: text(block.chunk) }).toEqual({ chunk: 'bcdef', eof: true });
    await fixture.client.call('fs/close', { handleId: 'r' });
  });

  it('shows nothing of the environment of the server', async () => {
    // The helper is not dumpable: its own environment belongs to root.
    const attempt = read('/proc/self/environ', restrictedRead);
    if (account.uid !== 0) {
      expect(await refusal(attempt)).toMatchObject({ message: 'Permission denied (os error 13)' });
      return;
    }
    const names = text((await attempt).dataBase64)
      .split('\0')
      .map((variable) => variable.split('=')[0]!);
    expect(names.filter((name) => !['', 'PATH', 'TMPDIR', 'TMP', 'TEMP', 'PWD'].includes(name))).toEqual([]);
  });

  it('that reads everything reads nothing of procfs', async () => {
    symlinkSync('/proc/self/environ', `${fixture.workspace}/disguised`);
    const denied = { code: -32600, message: 'Permission denied (os error 13)' };
    for (const path of ['/proc/self/environ', `${fixture.workspace}/disguised`, '/proc/self/root/etc/hostname']) {
      expect(await refusal(read(path, readOnly))).toEqual(denied);
      const open = { handleId: 'p', path: uri(path), sandbox: sandbox(readOnly) };
      expect(await refusal(fixture.client.call('fs/open', open))).toEqual(denied);
    }
    const walk = { path: uri('/proc/self'), sandbox: sandbox(readOnly), options: limits };
    expect(await refusal(fixture.client.call('fs/walk', walk))).toEqual(denied);
    writeFileSync(`${fixture.workspace}/plain`, 'plain');
    expect(text((await read(`${fixture.workspace}/plain`, readOnly)).dataBase64)).toBe('plain');
  });
});

const limits = { maxDepth: 2, maxDirectories: 10, maxEntries: 100, followDirectorySymlinks: false };
