import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accounts, glob, path, restrictedRead, SandboxFixture, uri, workspaceWrite } from '../sandbox/fixture.ts';
import { refusal } from './fixture.ts';
import { WatchedFolder } from './watch-fixture.ts';

describe.each(accounts)('fs/watch in a sandbox, for a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const sandbox = (entries: readonly unknown[]) => ({
    permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
    windowsSandboxLevel: 'disabled',
    cwd: uri(fixture.workspace),
    workspaceRoots: [uri(fixture.workspace)],
  });
  const watch = (entries: readonly unknown[], folder = fixture.workspace) =>
    WatchedFolder.open(fixture.client, folder, { sandbox: sandbox(entries) });
  const at = (name: string): string => join(fixture.workspace, name);

  it.each([
    ['everything', workspaceWrite],
    ['some directories', restrictedRead],
  ])('tells what changes where the client may read %s, whoever changes it', async (_, entries) => {
    const { tree } = await watch(entries);
    fixture.mkdir('workspace/made/deep');
    fixture.write('workspace/made/deep/file', 'x');
    await fixture.run('echo new > $W/sub/by-a-command; mv $W/made $W/moved');
    await tree.settled();
    expect(tree.mistakes()).toEqual([]);
    expect(tree.words()).toEqual(
      expect.arrayContaining(['created made/deep/file', 'created sub/by-a-command', 'renamed made → moved']),
    );
  });

  it('tells nothing of what is denied, also when it appears later, is renamed, or matches a pattern', async () => {
    fixture.mkdir('workspace/private/deep');
    fixture.write('workspace/private/deep/file', 'x');
    fixture.write('workspace/secret', 'x');
    fixture.write('workspace/plain', 'x');
    const denying = [
      ...workspaceWrite,
      path(at('private'), 'deny'),
      path(at('secret'), 'deny'),
      path(at('later'), 'deny'),
      glob('**/*.key'),
    ];
    const { tree } = await watch(denying);
    fixture.write('workspace/secret', 'changed');
    fixture.write('workspace/private/deep/file', 'changed');
    fixture.write('workspace/private/new', '');
    fixture.mkdir('workspace/later');
    fixture.write('workspace/later/file', '');
    fixture.write('workspace/sub/server.key', '');
    fixture.write('workspace/sub/seen', '');
    renameSync(at('plain'), at('sub/now.key'));
    renameSync(at('sub/server.key'), at('sub/public'));
    await tree.until(() => tree.words().includes('created sub/public'));
    const told = tree.words().filter((word) => word !== 'modified .'); // by the fixture, which gives it to the account
    expect(told.toSorted()).toEqual(['created sub/public', 'created sub/seen', 'modified sub/public', 'removed plain']);
  });

  it('watches no place that may not be read, through links neither', async () => {
    symlinkSync(fixture.outside, at('way-out'));
    const params = (place: string) => ({
      watchId: 'refused',
      path: uri(place),
      recursive: true,
      sandbox: sandbox(restrictedRead),
    });
    for (const place of [fixture.outside, at('way-out')]) {
      const answer = await refusal(fixture.client.call('fs/watch', params(place)));
      expect(answer.message).toMatch(/os error (2|13)/);
    }
    const { tree } = await watch(restrictedRead);
    writeFileSync(join(fixture.outside, 'secret'), 'changed');
    fixture.write('workspace/seen', '');
    await tree.until(() => tree.words().includes('created seen'));
    expect(tree.words().filter((word) => word.includes('secret'))).toEqual([]);
  });
});
