import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { serverProgram, TestServer } from '../../support/server.ts';
import { connect, text } from '../../support/wire-client.ts';
import { restrictedRead, uri } from '../sandbox/fixture.ts';

/** As in many containers a part of procfs is covered, so the kernel lets no process inside mount another procfs. */
async function startInContainer(): Promise<TestServer> {
  const view = ['--dev-bind', '/', '/', '--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys'];
  const container = ['--die-with-parent', '--unshare-user', '--unshare-pid', ...view];
  const command = [process.execPath, serverProgram, '--listen', 'ws://127.0.0.1:0'];
  const child = spawn('bwrap', [...container, '--', ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return new TestServer(url, child);
}

// Nobody but root keeps the owner of bubblewrap's program in sight through a namespace, and it must be root's.
it.skipIf(process.getuid!() !== 0)(
  'the first sandboxed call finds another way where procfs cannot be mounted, and so do those made with it',
  async () => {
    const folder = realpathSync(mkdtempSync('/var/tmp/exec-server-nested-'));
    writeFileSync(join(folder, 'file'), 'content');
    const server = await startInContainer();
    try {
      await using client = await connect(server.url);
      const permissions = {
        type: 'managed',
        file_system: { type: 'restricted', entries: restrictedRead },
        network: 'restricted',
      };
      const sandbox = { permissions, cwd: uri(folder), workspaceRoots: [uri(folder)] };
      const params = { path: uri(join(folder, 'file')), sandbox };
      const read = async () => text((await client.call<{ dataBase64: string }>('fs/readFile', params)).dataBase64);
      expect(await Promise.all([read(), read(), read()])).toEqual(['content', 'content', 'content']);
      expect(await read()).toBe('content');
      const outside = { path: uri('/root'), sandbox };
      await expect(client.call('fs/readDirectory', outside)).rejects.toThrow('No such file or directory');
    } finally {
      await server.stop('SIGKILL'); // and what is inside with it
      rmSync(folder, { recursive: true });
    }
  },
);
