import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';
import { outcomeOf, uri, workspaceWrite } from '../sandbox/fixture.ts';

it('a server makes no HOME that is not there, keeps its notes elsewhere and says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'missing-home-'));
  const [home, workspace] = [join(folder, 'home'), join(folder, 'workspace')];
  mkdirSync(workspace);
  {
    await using server = await startServer({ env: { HOME: home, XDG_STATE_HOME: '', TMPDIR: folder } });
    await using client = await connect(server.url);
    const sandbox = {
      permissions: {
        type: 'managed',
        file_system: { type: 'restricted', entries: workspaceWrite },
        network: 'restricted',
      },
      windowsSandboxLevel: 'disabled',
      cwd: uri(workspace),
      workspaceRoots: [uri(workspace)],
    };
    const command = await client.start({ argv: ['true'], cwd: uri(workspace), sandbox });
    expect((await outcomeOf(command)).exitCode).toBe(0);
    expect(existsSync(home)).toBe(false);
    const place = { folder: join(folder, `exec-server-${process.getuid!()}`) };
    expect(await server.lineOf('state.kept_elsewhere')).toMatchObject({
      ...place,
      reason: `the home directory ${home} does not exist`,
    });
    expect(existsSync(place.folder)).toBe(true);
  }
  rmSync(folder, { recursive: true });
});
