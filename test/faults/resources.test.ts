import { mkdirSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { base64 } from '../support/wire-client.ts';
import { afterShell, slow, survives, unshared } from './fault-rig.ts';

describe('a server without free descriptors', () => {
  it(
    'refuses what needs one, ends what runs, and serves when there are some again',
    survives({ under: afterShell('ulimit -n 120') }, async (rig) => {
      await using client = await rig.connect();
      const sleeping = await client.start({ argv: ['sleep', '1000'] });
      const sockets: Socket[] = [];
      const { port } = new URL(rig.server.url);
      for (let n = 0; n < 150; n++) sockets.push(connectTcp(Number(port), '127.0.0.1').on('error', () => {}));
      const starts = Array.from({ length: 60 }, () => client.start({ argv: ['sleep', '1000'] }));
      const outcomes = await Promise.allSettled(starts);

      expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
      await client.call('process/terminate', { processId: sleeping.id });
      await sleeping.closed();
      for (const socket of sockets) socket.destroy();
    }),
  );
});

/** A disk of a mebibyte for the workspace, and smaller ones for what the server itself keeps. */
function smallDisks(folder: string) {
  const state = join(folder, 'home', 'state');
  mkdirSync(state);
  const disks = [
    [join(folder, 'workspace'), '1m'],
    [state, '64k'],
    [join(folder, 'tmp'), '64k'],
  ];
  const mounts = disks.map(([at, size]) => `mount -t tmpfs -o size=${size} none ${at}`);
  const env = { XDG_STATE_HOME: state, XDG_RUNTIME_DIR: state };
  return { under: [...unshared('--mount'), ...afterShell(mounts.join(' && '))], env };
}

describe('a server whose disk is full', () => {
  it(
    'says so, file call by file call and command by command, leaves nothing half-written, and serves when there is room',
    survives(smallDisks, async (rig) => {
      await using client = await rig.connect();
      const { sandbox } = rig;
      const full = /No space left on device/;
      const content = { dataBase64: base64(Buffer.alloc(2 * 2 ** 20)) };
      for (const more of [{}, { sandbox }]) {
        const write = client.call('fs/writeFile', { path: rig.uri('large'), ...content, ...more });
        await expect(write).rejects.toThrow(full);
        await client.call('fs/remove', { path: rig.uri('large') });
      }
      await client.call('fs/open', { handleId: 'h', path: rig.uri('large'), mode: 'replace' });
      const blocks = Array.from({ length: 4 }, (_, n) =>
        client.call('fs/writeBlock', { handleId: 'h', offset: n * 2 ** 20, chunk: base64(Buffer.alloc(2 ** 20)) }),
      );
      const written = await Promise.allSettled(blocks);
      expect(written.some(({ status }) => status === 'rejected')).toBe(true);
      await client.call('fs/close', { handleId: 'h' });
      await client.call('fs/remove', { path: rig.uri('large') });
      const [home, tmp] = ['../home/state/fill', '../tmp/fill'];
      const fill = `for to in ${home} ${tmp} fill; do cat /dev/zero > $to 2>/dev/null; done; echo x > fill2`;
      const cwd = rig.uri('');
      const filling = await client.start({ argv: ['sh', '-c', fill], cwd });
      expect(await filling.exited()).not.toBe(0);
      for (let round = 0; round < 3; round++) {
        // Its view needs a mount point on the disk and a note about it.
        const confined = await client.start({ argv: ['sh', '-c', 'echo more > more'], cwd, sandbox });
        expect(await confined.exited()).not.toBe(0);
        await confined.closed();
      }
      await client.start({ argv: ['rm', '-f', 'fill', 'fill2', 'more', home, tmp], cwd }).then((rm) => rm.closed());
    }),
  );

  it(
    'survives a limit on the size of files',
    survives({ under: afterShell('ulimit -f 2048') }, async (rig) => {
      await using client = await rig.connect();
      for (const more of [{}, { sandbox: rig.sandbox }]) {
        const write = client.call('fs/writeFile', {
          path: rig.uri('large'),
          dataBase64: base64(Buffer.alloc(4 * 2 ** 20)),
          ...more,
        });
        await expect(write).rejects.toThrow(/File too large|ended|failed/);
        await client.call('fs/remove', { path: rig.uri('large') });
      }
    }),
  );
});

describe('a server with little memory', () => {
  slow(
    'stays within it while clients do not read and send much',
    survives({ under: ['prlimit', `--data=${1536 * 2 ** 20}`] }, async (rig) => {
      await using client = await rig.connect();
      await using deaf = await rig.connect();
      for (let n = 0; n < 8; n++) await deaf.start({ argv: ['cat', '/dev/zero'] });
      deaf.socket.pause();
      const dataBase64 = base64(Buffer.alloc(40 * 2 ** 20));
      for (let n = 0; n < 6; n++) await client.call('fs/writeFile', { path: rig.uri('large'), dataBase64 });
      const greedy = await client.start({ argv: ['sh', '-c', 'ulimit -v 200000; exec tail /dev/zero'] });
      expect(await greedy.exited()).not.toBe(0);
      await client.call('fs/remove', { path: rig.uri('large') });
    }),
  );
});
