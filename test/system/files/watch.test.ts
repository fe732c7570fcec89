import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { argumentsOf, childrenOf, eventually } from '../../support/proc.ts';
import { randomFrom, seedFrom } from '../../support/seeded.ts';
import { startServer } from '../../support/server.ts';
import type { Changed } from '../../support/watched-tree.ts';
import { connectBare, resume } from '../../support/wire-client.ts';
import { uri } from '../sandbox/fixture.ts';
import { FilesFixture, refusal } from './fixture.ts';
import { WatchedFolder } from './watch-fixture.ts';

let fixture: FilesFixture;
let count = 0;
beforeAll(async () => {
  fixture = await FilesFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const folder = (): string => fixture.at(`tree${count++}`);
const watchers = (server: number): number =>
  childrenOf(server).filter(({ pid }) => argumentsOf(pid)[0]?.endsWith('/fs-watch')).length;

/** A message about a watch, by its number. */
async function changedOf(watchId: string, seq: number): Promise<Changed> {
  const message = await fixture.client.strayUntil((stray) => {
    const { method, params } = stray as { method?: string; params?: { watchId?: string; seq?: number } };
    return method === 'fs/changed' && params?.watchId === watchId && params.seq === seq;
  });
  return (message as unknown as { params: Changed }).params;
}

/** A watched directory, and what is done in it. */
async function watched(prepare: (at: (name: string) => string) => void = () => {}, more: object = {}) {
  const root = folder();
  mkdirSync(root);
  const at = (name: string): string => join(root, name);
  prepare(at);
  const watch = await WatchedFolder.open(fixture.client, root, more);
  const words = async (): Promise<string[]> => {
    await watch.tree.settled();
    expect(watch.tree.mistakes()).toEqual([]);
    return watch.tree.words();
  };
  return { ...watch, watch, tree: watch.tree, root, at, words };
}

describe('fs/watch', () => {
  it('tells what is created, modified and removed', async () => {
    const { at, words } = await watched((at) => {
      writeFileSync(at('changed'), 'old');
      writeFileSync(at('appended'), 'old');
      writeFileSync(at('mode'), '');
      writeFileSync(at('time'), '');
      writeFileSync(at('gone'), '');
      mkdirSync(at('empty'));
    });
    writeFileSync(at('new'), 'content');
    mkdirSync(at('directory'));
    symlinkSync('nowhere', at('link'));
    linkSync(at('gone'), at('other'));
    writeFileSync(at('changed'), 'new');
    appendFileSync(at('appended'), 'more');
    chmodSync(at('mode'), 0o600);
    utimesSync(at('time'), 1, 1);
    rmSync(at('gone'));
    rmdirSync(at('empty'));
    expect((await words()).toSorted()).toEqual([
      'created directory',
      'created link',
      'created new',
      'created other',
      'modified appended',
      'modified changed',
      'modified mode',
      'modified time',
      'removed empty',
      'removed gone',
    ]);
  });

  it('joins changes of one path: what was made and removed is removed, what was replaced is modified', async () => {
    const { at, words } = await watched((at) => writeFileSync(at('replaced'), ''));
    writeFileSync(at('passing'), '');
    rmSync(at('passing'));
    rmSync(at('replaced'));
    writeFileSync(at('replaced'), 'new');
    for (let time = 0; time < 50; time++) appendFileSync(at('log'), 'line\n');
    expect(await words()).toEqual(['removed passing', 'modified replaced', 'created log']);
  });

  it('tells of a file that a program replaces that it is modified', async () => {
    const { at, words } = await watched((at) => writeFileSync(at('settings'), 'old'));
    writeFileSync(at('settings.tmp'), 'new');
    renameSync(at('settings.tmp'), at('settings'));
    expect(await words()).toEqual(['renamed settings.tmp → settings', 'modified settings']);
  });

  it('pairs renames, of files and of directories with all that is in them, and goes on watching these', async () => {
    const { at, words } = await watched((at) => {
      mkdirSync(at('d/deep'), { recursive: true });
      mkdirSync(at('e'));
      writeFileSync(at('d/deep/f'), 'f');
      writeFileSync(at('plain'), 'p');
    });
    renameSync(at('plain'), at('e/renamed'));
    renameSync(at('d'), at('e/moved'));
    appendFileSync(at('e/moved/deep/f'), 'more');
    writeFileSync(at('e/moved/deep/g'), 'g');
    renameSync(at('e'), at('last'));
    writeFileSync(at('last/moved/deep/h'), 'h');
    expect(await words()).toEqual([
      'renamed plain → e/renamed',
      'renamed d → e/moved',
      'modified e/moved/deep/f',
      'created e/moved/deep/g',
      'renamed e → last',
      'created last/moved/deep/h',
    ]);
  });

  it('tells that a renamed file was modified before', async () => {
    const { at, words } = await watched((at) => writeFileSync(at('a'), 'old'));
    writeFileSync(at('a'), 'new');
    renameSync(at('a'), at('b'));
    expect(await words()).toEqual(['renamed a → b', 'modified b']);
  });

  it('takes what leaves the tree for removed, and what comes into it for created, with its content', async () => {
    const outside = folder();
    mkdirSync(join(outside, 'in/deep'), { recursive: true });
    writeFileSync(join(outside, 'in/deep/f'), '');
    const { at, words, tree } = await watched((at) => {
      mkdirSync(at('out/deep'), { recursive: true });
      writeFileSync(at('out/deep/f'), '');
    });
    renameSync(at('out'), join(outside, 'out'));
    await tree.until(() => tree.words().includes('removed out'));
    writeFileSync(join(outside, 'out/deep/unseen'), '');
    renameSync(join(outside, 'in'), at('in'));
    expect(await words()).toEqual(['removed out', 'created in', 'created in/deep', 'created in/deep/f']);
  });

  it('tells an exchange of two files as a change of both', async () => {
    const { at, words } = await watched((at) => {
      writeFileSync(at('a'), 'a');
      writeFileSync(at('b'), 'b');
    });
    const exchange =
      'import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(316,-100,sys.argv[1].encode(),-100,sys.argv[2].encode(),2))';
    const number = process.arch === 'arm64' ? '276' : '316';
    execFileSync('/usr/bin/python3', ['-c', exchange.replace('316', number), at('a'), at('b')]);
    expect((await words()).toSorted()).toEqual(['modified a', 'modified b']);
  });

  it('misses nothing in directories that are made while it looks', async () => {
    const { root, tree, words } = await watched();
    const script =
      'for a in 1 2 3 4 5 6 7 8; do mkdir -p $a/b/c/d; for f in x y z; do echo $f > $a/b/c/d/$f; done; done';
    for (let time = 0; time < 10; time++) {
      mkdirSync(join(root, `t${time}`));
      execFileSync('/bin/sh', ['-c', script], { cwd: join(root, `t${time}`) });
    }
    const told = await words();
    // A file that is found by listing its directory may be told once more when its event is read, and when its writer goes on.
    expect(new Set(told.filter((word) => word.startsWith('created ') && word.endsWith('/z'))).size).toBe(80);
    expect(tree.overflows).toBe(0);
  });

  it('leads to the same tree as the disk after any changes', async () => {
    const seed = seedFrom('WATCH_SEED');
    const random = randomFrom(seed);
    const { at, tree } = await watched((at) => {
      for (const name of ['d0', 'd1', 'd0/d2', 'd1/d3/d4']) mkdirSync(at(name), { recursive: true });
      for (let file = 0; file < 10; file++) writeFileSync(at(`f${file}`), `content ${file}`);
    });
    const name = (): string => {
      const depth = random(4);
      return [...Array.from({ length: depth }, () => `d${random(5)}`), `${random(2) ? 'd' : 'f'}${random(5)}`].join(
        '/',
      );
    };
    const acts: ((one: string, other: string) => void)[] = [
      (one) => mkdirSync(one),
      (one) => writeFileSync(one, String(random(1e6))),
      (one) => writeFileSync(one, String(random(1e6))),
      (one) => appendFileSync(one, 'x'),
      (one) => rmSync(one, { recursive: random(4) === 0 }),
      (one, other) => renameSync(one, other),
      (one, other) => renameSync(one, other),
      (one, other) => renameSync(one, other),
    ];
    for (let step = 0; step < 3000; step++) {
      try {
        acts[random(acts.length)]!(at(name()), at(name()));
      } catch {
        // there is no such file, or it is another kind
      }
      if (random(100) === 0) await tree.settled();
    }
    await tree.settled();
    expect({ seed, mistakes: tree.mistakes(), overflows: tree.overflows }).toEqual({
      seed,
      mistakes: [],
      overflows: 0,
    });
  });

  it('tells of the entries of a directory alone unless it is recursive', async () => {
    const { at, tree } = await watched((at) => mkdirSync(at('d')), { recursive: false });
    writeFileSync(at('d/below'), '');
    writeFileSync(at('f'), '');
    renameSync(at('f'), at('g'));
    mkdirSync(at('new'));
    writeFileSync(at('new/below'), '');
    await tree.settled();
    expect(tree.words()).toEqual(['renamed f → g', 'modified g', 'created new']);
  });

  it('spells paths as the request did, and keeps names that are no UTF-8', async () => {
    const root = folder();
    mkdirSync(join(root, 'real'), { recursive: true });
    symlinkSync('real', join(root, 'link'));
    const path = `${uri(join(root, 'link'))}/`;
    await fixture.client.call('fs/watch', { watchId: 'spelled', path });
    writeFileSync(Buffer.concat([Buffer.from(`${root}/real/`), Buffer.of(0xff, 0x20)]), '');
    const params = await changedOf('spelled', 1);
    expect(params).toEqual({
      watchId: 'spelled',
      seq: 1,
      changes: [{ path: `${path}%FF%20`, kind: 'created' }],
    });
  });

  it('watches a file, also when a program replaces it, until it is gone', async () => {
    const root = folder();
    mkdirSync(root);
    const file = join(root, 'file');
    writeFileSync(file, '');
    let seen = 0;
    const next = async (): Promise<string[]> => {
      const { changes, ended } = await changedOf('file', ++seen);
      return changes.map(({ kind }) => (ended ? `${kind}, ended` : kind));
    };
    await fixture.client.call('fs/watch', { watchId: 'file', path: uri(file) });
    writeFileSync(file, 'new');
    writeFileSync(join(root, 'other'), '');
    expect(await next()).toEqual(['modified']);
    writeFileSync(join(root, 'other'), 'newer');
    renameSync(join(root, 'other'), file);
    expect(await next()).toEqual(['created']);
    rmSync(file);
    expect(await next()).toEqual(['removed, ended']);
  });

  it('says no where changes make no events, and what is wrong with a path', async () => {
    const watch = (path: string) => fixture.client.call('fs/watch', { watchId: 'no', path });
    expect(await watch('file:///proc/self')).toEqual({ watching: false });
    expect(await watch('file:///sys/kernel')).toEqual({ watching: false });
    expect(await refusal(watch(fixture.uri('missing')))).toEqual({
      code: -32004,
      message: 'No such file or directory (os error 2)',
    });
  });
});

describe('a watch', () => {
  it('ends by fs/unwatch, with its process', async () => {
    await using client = await connectBare(fixture.server.url);
    await client.initialize();
    const before = watchers(fixture.server.pid);
    const watch = await WatchedFolder.open(client, folder());
    expect(watchers(fixture.server.pid)).toBe(before + 1);
    await expect(client.call('fs/unwatch', { watchId: watch.watchId })).resolves.toEqual({});
    await eventually('the end of the watch', () => watchers(fixture.server.pid) === before);
    await expect(client.call('fs/unwatch', { watchId: watch.watchId })).resolves.toEqual({}); // repeated
  });

  it.each(['removed', 'renamed', 'renamed with a directory above it'])('ends when its directory is %s', async (how) => {
    const above = folder();
    mkdirSync(join(above, 'root/d'), { recursive: true });
    const root = join(above, 'root');
    await using client = await connectBare(fixture.server.url);
    await client.initialize();
    const before = watchers(fixture.server.pid);
    const watch = await WatchedFolder.open(client, root);
    if (how === 'removed') rmSync(root, { recursive: true });
    else if (how === 'renamed') renameSync(root, join(above, 'other'));
    else renameSync(above, `${above}-other`);
    const last = await watch.ended();
    expect(last.changes.at(-1)).toEqual({ path: uri(root), kind: 'removed' });
    expect(last.error).toBeUndefined();
    await eventually('the end of its process', () => watchers(fixture.server.pid) === before);
  });

  it('ends with its session', async () => {
    await using server = await startServer({ args: ['--detached-session-ttl-ms', '1'] });
    const client = await connectBare(server.url);
    await client.initialize();
    await WatchedFolder.open(client, folder());
    expect(watchers(server.pid)).toBe(1);
    client.cut();
    await eventually('the end of its process', () => watchers(server.pid) === 0);
  });

  it('tells what has changed while its client was away, with the next numbers', async () => {
    const first = await connectBare(fixture.server.url);
    const sessionId = await first.initialize();
    const watch = await WatchedFolder.open(first, folder());
    const { tree } = watch;
    writeFileSync(join(tree.folder, 'before'), '');
    await tree.settled();
    first.cut();
    await first.closed;
    for (let file = 0; file < 200; file++) writeFileSync(join(tree.folder, `away${file}`), '');

    await using second = await resume(fixture.server.url, sessionId);
    watch.follow(second);
    await tree.settled();
    expect(tree.mistakes()).toEqual([]);
    expect(tree.overflows).toBe(0);
    expect(tree.told.map(({ seq }) => seq)).toEqual(tree.told.map((_, at) => at + 1));
    await expect(
      second.call('fs/watch', { watchId: watch.watchId, path: uri(tree.folder), recursive: true }),
    ).resolves.toEqual({ watching: true }); // its answer may have been lost
  });

  it('gives up changes, and says so, when they are too many for a client that is away', async () => {
    const first = await connectBare(fixture.server.url);
    const sessionId = await first.initialize();
    const watch = await WatchedFolder.open(first, folder());
    const { tree } = watch;
    first.cut();
    await first.closed;
    execFileSync('/bin/sh', ['-c', 'seq 1 45000 | xargs touch'], { cwd: tree.folder });

    await using second = await resume(fixture.server.url, sessionId);
    watch.follow(second);
    await tree.settled();
    expect(tree.mistakes()).toEqual([]);
    expect(tree.overflows).toBeGreaterThan(0);
  });

  it('is one of 16 in a session, by an id of its own', async () => {
    await using client = await connectBare(fixture.server.url);
    await client.initialize();
    const path = uri(fixture.folder);
    const watch = (watchId: string, more: object = {}) => client.call('fs/watch', { watchId, path, ...more });
    for (let at = 0; at < 16; at++) await watch(`w${at}`);
    expect(await refusal(watch('one-more'))).toEqual({
      code: -32600,
      message: 'at most 16 watches may be open per session',
    });
    expect(await refusal(watch('w0', { recursive: true }))).toEqual({
      code: -32600,
      message: 'watch `w0` already exists',
    });
    await client.call('fs/unwatch', { watchId: 'w0' });
    await watch('one-more');
    expect(await refusal(watch('x'.repeat(65)))).toEqual({
      code: -32600,
      message: 'watch ID must not exceed 64 bytes',
    });
  });
});
