import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RemoteFileSystem } from '../../../src/client/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { connect } from '../../support/client-specification.ts';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { base64, connectBare, resume, type WebSocketClient } from '../../support/wire-client.ts';
import { accounts, path, readOnly, SandboxFixture, uri, workspaceWrite } from '../sandbox/fixture.ts';
import { FilesFixture, refusal } from './fixture.ts';

let fixture: FilesFixture;
let count = 0;
let name: string;
beforeAll(async () => {
  fixture = await FilesFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(() => {
  name = `f${count++}`;
});

const file = (): string => fixture.at(name);
const content = (): string => readFileSync(file(), 'utf8');
const open = (handleId: string, client = fixture.client) =>
  client.call('fs/open', { handleId, path: fixture.uri(name), mode: 'append' });
const write = (handleId: string, offset: number, text: string, client: WebSocketClient = fixture.client) =>
  client.call('fs/writeBlock', { handleId, offset, chunk: base64(text) });
const close = (handleId: string) => fixture.call('fs/close', { handleId });

describe('a file that is open for appending', () => {
  it('grows at its end by each block', async () => {
    writeFileSync(file(), 'before\n');
    await expect(open('grows')).resolves.toEqual({ handleId: 'grows' });
    await write('grows', 0, 'one\n');
    await expect(write('grows', 4, 'two\n')).resolves.toEqual({});
    await close('grows');
    expect(content()).toBe('before\none\ntwo\n');
  });

  it('is created if it is missing', async () => {
    await open('new');
    await write('new', 0, 'first');
    await close('new');
    expect(content()).toBe('first');
  });

  it('loses nothing to others that append to it, or cut it off', async () => {
    await open('a');
    await open('b');
    await write('a', 0, 'a1\n');
    await write('b', 0, 'b1\n');
    await write('a', 3, 'a2\n');
    writeFileSync(file(), 'log\n', { flag: 'a' });
    await write('b', 3, 'b2\n');
    expect(content()).toBe('a1\nb1\na2\nlog\nb2\n');
    truncateSync(file());
    await write('a', 6, 'a3\n');
    await Promise.all([close('a'), close('b')]);
    expect(content()).toBe('a3\n');
  });

  it('takes a block once, however often it is sent, and of one that overlaps what is new', async () => {
    await open('once');
    await write('once', 0, 'abc');
    await write('once', 0, 'abc');
    await write('once', 1, 'bcd');
    await write('once', 2, 'cd');
    await close('once');
    expect(content()).toBe('abcd');
  });

  it('takes blocks in the order in which they are sent', async () => {
    await open('order');
    await Promise.all(Array.from({ length: 20 }, (_, at) => write('order', at, String(at % 10))));
    await close('order');
    expect(content()).toBe('01234567890123456789');
  });

  it('refuses a block after a gap, an empty one, and to be read', async () => {
    await open('gap');
    await write('gap', 0, 'abc');
    expect(await refusal(write('gap', 9, 'x'))).toEqual({
      code: -32600,
      message: 'a block at offset 9 leaves a gap: 3 bytes of this handle are written',
    });
    expect(await refusal(write('gap', 3, ''))).toMatchObject({ code: -32600 });
    expect(await refusal(fixture.call('fs/readBlock', { handleId: 'gap', offset: 0, len: 1 }))).toEqual({
      code: -32600,
      message: 'file handle `gap` is open for appending',
    });
    await write('gap', 3, 'd');
    await close('gap');
    expect(content()).toBe('abcd');
  });

  it('shares its ids with other handles', async () => {
    const exists = { code: -32600, message: 'file handle `shared` already exists' };
    await open('shared');
    expect(await refusal(fixture.call('fs/open', { handleId: 'shared', path: fixture.uri(name) }))).toEqual(exists);
    const other = { handleId: 'shared', path: fixture.uri(`${name}-other`), mode: 'append' };
    expect(await refusal(fixture.call('fs/open', other))).toEqual(exists);
    await close('shared');
    await fixture.call('fs/open', { handleId: 'shared', path: fixture.uri(name) });
    expect(await refusal(open('shared'))).toEqual(exists);
    await close('shared');
    expect(await refusal(write('shared', 0, 'x'))).toMatchObject({ code: -32004 });
  });

  it('is a file', async () => {
    mkdirSync(file());
    expect(await refusal(open('directory'))).toMatchObject({ message: 'Is a directory (os error 21)' });
    const device = { handleId: 'device', path: fixture.uri('null'), mode: 'append' };
    symlinkSync('/dev/null', fixture.at('null'));
    expect(await refusal(fixture.call('fs/open', device))).toMatchObject({ code: -32600, message: /is not a file/ });
  });

  it('leaves the refusal of other modes as it is in the reference', async () => {
    const params = { handleId: 'mode', path: fixture.uri(name), mode: 'truncate' };
    expect(await refusal(fixture.call('fs/open', params))).toEqual({
      code: -32602,
      message: 'unknown variant `truncate`, expected `read` or `replace`',
    });
  });

  it('is one of 128 in a session', async () => {
    await using client = await connectBare(fixture.server.url);
    await client.initialize();
    for (let at = 0; at < 128; at++) await open(`h${at}`, client);
    expect(await refusal(open('one-more', client))).toEqual({
      code: -32600,
      message: 'at most 128 files may be open for appending per session',
    });
    await client.call('fs/close', { handleId: 'h0' });
    await open('one-more', client);
  });
});

describe('after a lost connection, a file that is open for appending', () => {
  it('is open still, and knows the blocks that it has', async () => {
    const first = await connectBare(fixture.server.url);
    const sessionId = await first.initialize();
    await open('kept', first);
    await write('kept', 0, 'abc', first);
    first.cut();
    await first.closed;

    await using second = await resume(fixture.server.url, sessionId);
    await expect(open('kept', second)).resolves.toEqual({ handleId: 'kept' }); // its answer may have been lost
    await write('kept', 0, 'abc', second);
    await write('kept', 3, 'def', second);
    await second.call('fs/close', { handleId: 'kept' });
    expect(content()).toBe('abcdef');
  });

  it('gets every byte once from a client whose connection is cut again and again', async () => {
    await using proxy = await CuttableProxy.start(fixture.server.url);
    await using client = await connect(proxy.url, { resumeIntervalMs: 5 });
    const files = new RemoteFileSystem(client);
    const lines = Array.from({ length: 400 }, (_, at) => `${at}\n`.padStart(100, '.'));
    async function* blocks(): AsyncGenerator<Uint8Array> {
      for (const [at, line] of lines.entries()) {
        if (at % 20 === 10) proxy.cutAfter(1); // after the block has reached the server, before its answer reaches the client
        yield Buffer.from(line);
      }
    }
    expect(await files.append(PathUri.fromNative(file()), blocks())).toBe(40_000);
    expect(content()).toBe(lines.join(''));
    expect(proxy.accepted).toBeGreaterThan(10);
  });
});

describe.each(accounts)('appending in a sandbox, for a server run by $name', (account) => {
  let sandboxed: SandboxFixture;
  beforeAll(async () => {
    sandboxed = await SandboxFixture.open(account);
  });
  beforeEach(() => sandboxed.reset());
  afterAll(() => sandboxed[Symbol.asyncDispose]());
  const inWorkspace = (entry: string): string => join(sandboxed.workspace, entry);
  const append = async (place: string, text: string, entries = workspaceWrite) => {
    if (!place.startsWith(sandboxed.at(''))) throw new Error(`${place} is not in the fixture`);
    const sandbox = {
      permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
      windowsSandboxLevel: 'disabled',
      cwd: uri(sandboxed.workspace),
      workspaceRoots: [uri(sandboxed.workspace)],
    };
    const handleId = `s${count++}`;
    await sandboxed.client.call('fs/open', { handleId, path: uri(place), mode: 'append', sandbox });
    await sandboxed.client.call('fs/writeBlock', { handleId, offset: 0, chunk: base64(text) });
    await sandboxed.client.call('fs/close', { handleId });
  };

  it('works where it may write', async () => {
    await append(inWorkspace('a.txt'), 'more\n');
    await append(inWorkspace('new.txt'), 'new\n');
    const contents = ['a.txt', 'new.txt'].map((entry) => readFileSync(inWorkspace(entry), 'utf8'));
    expect(contents).toEqual(['a\nmore\n', 'new\n']);
  });

  it('changes nothing that is outside, read-only, denied or protected, through links neither', async () => {
    const outside = join(sandboxed.outside, 'secret');
    sandboxed.write('workspace/secret', 'secret\n');
    symlinkSync(outside, inWorkspace('way-out'));
    const denying = [...workspaceWrite, path(inWorkspace('secret'), 'deny')];
    const files = [outside, inWorkspace('.git/config'), inWorkspace('secret'), inWorkspace('a.txt')];
    const before = files.map((each) => readFileSync(each, 'utf8'));
    const attempts: [string, typeof workspaceWrite?][] = [
      [outside],
      [inWorkspace('way-out')],
      [inWorkspace('.git/config')],
      [inWorkspace('.codex')],
      [inWorkspace('secret'), denying],
      [inWorkspace('a.txt'), readOnly],
    ];
    for (const [place, entries] of attempts) await expect(append(place, 'x', entries)).rejects.toThrow(/os error/);
    expect(files.map((each) => readFileSync(each, 'utf8'))).toEqual(before);
  });
});
