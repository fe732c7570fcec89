import { describe, expect, it } from 'vitest';
import { ArchitectureWays } from '../../support/architecture-ways.ts';
import type { WebSocketClient } from '../../support/wire-client.ts';
import { inRelay, inServer, inToolServer } from './ways-fixture.ts';

const ways = new ArchitectureWays();
const sourcesOf = (way: string): readonly string[] => ways.files(way).filter((file) => file.endsWith('.ts'));

/** Can read what programs need, and a folder where it can write as well. */
const sandboxIn = (folder: string) => ({
  permissions: {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [
        { path: { type: 'special', value: { kind: 'minimal' } }, access: 'read' },
        { path: { type: 'path', path: `file://${folder}` }, access: 'write' },
      ],
    },
    network: 'restricted',
  },
  cwd: `file://${folder}`,
  workspaceRoots: [`file://${folder}`],
});

const run = async (client: WebSocketClient, options: object = {}) =>
  (await client.start({ argv: ['echo', 'hello'], ...options })).closed();

const runInside = (client: WebSocketClient, folder: string) => run(client, { sandbox: sandboxIn(folder) });

const readInside = (client: WebSocketClient, folder: string) =>
  client.call('fs/readFile', { path: `file://${folder}/file`, sandbox: sandboxIn(folder) });

/** A timer of a program may put one more file to work: then another try shows what it was. */
describe('ARCHITECTURE.md names the files at work', { retry: 4 }, () => {
  it('in one request', async () => {
    expect(await inServer((client) => client.call('environment/status'))).toEqual(sourcesOf('One request'));
  });

  it('in the life of one process', async () => {
    expect(await inServer((client) => run(client))).toEqual(sourcesOf('One process'));
  });

  it('in one sandboxed command', async () => {
    expect(await inServer(runInside, runInside)).toEqual(sourcesOf('One sandboxed command'));
  });

  it('in one file call', async () => {
    expect(await inServer(readInside)).toEqual(sourcesOf('One file call'));
  });

  it('in one tool call', async () => {
    expect(await inToolServer('echo hello')).toEqual(sourcesOf('One tool call'));
  });

  it('in one relayed message', async () => {
    expect(await inRelay()).toEqual(sourcesOf('One relayed message'));
  });
});
