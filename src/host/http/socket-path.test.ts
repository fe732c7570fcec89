import { once } from 'node:events';
import { existsSync, linkSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LONGEST_PATH_BYTES, listenOnPath } from './socket-path.ts';

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'socket-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function newServer(): Server {
  const server = createServer((socket) => socket.destroy());
  onTestFinished(() => void server.close());
  return server;
}

/** A socket that nothing listens on any more. */
async function leaveSocket(path: string): Promise<void> {
  const dead = createServer().listen(`${path}.bound`);
  await once(dead, 'listening');
  linkSync(`${path}.bound`, path);
  dead.close();
  await once(dead, 'close');
}

it('takes the socket of a dead server for one of the servers that start at once', async () => {
  const folder = scratch();
  const path = join(folder, 'socket');
  await leaveSocket(path);
  const dead = lstatSync(path).ino;

  const starts = await Promise.allSettled(Array.from({ length: 8 }, () => listenOnPath(newServer(), { path })));

  const refusals = starts.filter((start) => start.status === 'rejected');
  expect(refusals.map(({ reason }) => reason.message)).toEqual(
    Array(7).fill(`cannot listen on ${path}: another program listens there; choose another path`),
  );
  await once(connect(path), 'connect');
  expect(lstatSync(path).ino).not.toBe(dead);
  expect(readdirSync(folder)).toEqual(['socket']);
});

it('removes its own socket, and none that has taken its path', async () => {
  const path = join(scratch(), 'socket');
  const first = await listenOnPath(newServer(), { path });
  unlinkSync(path);
  const second = await listenOnPath(newServer(), { path });

  first[Symbol.dispose]();
  await once(connect(path), 'connect');
  second[Symbol.dispose]();
  expect(existsSync(path)).toBe(false);
});

it('listens on the longest path that a socket can have', async () => {
  let folder = scratch();
  folder = join(folder, 'd'.repeat(LONGEST_PATH_BYTES - folder.length - 5));
  mkdirSync(folder);
  const path = join(folder, 'abc');
  expect(path.length).toBe(LONGEST_PATH_BYTES);

  await listenOnPath(newServer(), { path });

  await once(connect(path), 'connect');
  expect(readdirSync(folder)).toEqual(['abc']);
});
