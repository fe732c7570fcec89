import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOnlyPolicy } from '../../../../test/support/policy.ts';
import { spawn } from '../../os/index.ts';
import type { AccessPolicy } from '../policy/resolution.ts';
import { SandboxHost } from '../sandbox-host.ts';
import { InstalledBubblewrap, requireUsable } from './bubblewrap.ts';
import { confine } from './confine.ts';
import { launcherArgs } from './launcher.ts';

const sandboxes = new SandboxHost({ environment: {} });
const command = { argv: ['true'], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' } } as const;

describe('bubblewrap', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'exec-server-bwrap-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is found and works on this machine', () => {
    expect(new InstalledBubblewrap().tried()).toMatchObject({ usable: true, path: expect.stringMatching(/bwrap$/) });
  });

  it('is not taken from where others than root can write', () => {
    const planted = join(folder, 'bwrap');
    copyFileSync('/usr/bin/bwrap', planted);
    chmodSync(planted, 0o777);
    expect(new InstalledBubblewrap([planted]).tried()).toMatchObject({ usable: false });
  });

  it('must really be able to make one', () => {
    const broken = join(folder, 'broken');
    writeFileSync(broken, '#!/bin/sh\necho "bwrap: no permissions to create new namespace" >&2\nexit 1\n');
    chmodSync(broken, 0o755);
    const outcome = new InstalledBubblewrap([broken]).tried();
    // Only root can make a file that is trusted.
    const reason = process.getuid!() === 0 ? 'no permissions to create new namespace' : 'not installed';
    expect(outcome).toMatchObject({ usable: false, reason: expect.stringContaining(reason) });
  });

  it('is named, with the remedy, when it is missing; no command runs without it', () => {
    const launcher = new InstalledBubblewrap([]).tried();
    expect(() => confine(sandboxes, command, readOnlyPolicy, { launcher })).toThrow(
      /bubblewrap is not installed.*apt-get install/,
    );
  });

  describe('that is in its place and makes no sandbox', () => {
    const unusable = { usable: false, reason: expect.stringContaining('status 0') };
    const presumed = { usable: true, path: '/bin/true', proc: true };

    it('is presumed to work until it is tried', async () => {
      const [one, other] = [new InstalledBubblewrap(['/bin/true']), new InstalledBubblewrap(['/bin/true'])];
      expect(one.presumed()).toEqual(presumed);
      expect([one.tried(), one.presumed()]).toMatchObject([unusable, unusable]);
      expect([await other.triedLater(), other.presumed()]).toMatchObject([unusable, unusable]);
    });

    it('is not tried once a sandbox has been made', async () => {
      const installed = new InstalledBubblewrap(['/bin/true']);
      installed.confirm();
      expect([installed.tried(), await installed.triedLater()]).toEqual([presumed, presumed]);
    });

    it('stays unusable whatever is confirmed later', () => {
      const installed = new InstalledBubblewrap(['/bin/true']);
      const before = installed.tried();
      installed.confirm();
      expect([before, installed.presumed()]).toMatchObject([unusable, unusable]);
    });
  });

  it('is not needed when only the network is restricted', () => {
    const policy: AccessPolicy = { ...readOnlyPolicy, unrestricted: true, rules: [] };
    const { command: confined } = confine(sandboxes, command, policy, {
      launcher: new InstalledBubblewrap([]).tried(),
    });
    expect(confined.argv[0]).toMatch(/sandbox-stage$/);
    expect(confine(sandboxes, command, { ...policy, network: 'enabled' }).command).toBe(command);
  });

  it('works without a procfs of its own, where none may be mounted', async () => {
    const launcher = { ...requireUsable(new InstalledBubblewrap().tried()), proc: false };
    const script = { ...command, argv: ['/bin/sh', '-c', 'test ! -e /proc/self/fd/3 && exit 7'] };
    for (const policy of [readOnlyPolicy, { ...readOnlyPolicy, rules: [], minimal: true }]) {
      for (const _ of [1, 2]) {
        const confined = confine(sandboxes, script, policy, { launcher });
        await using child = spawn({ ...confined.command, mark: 0n });
        expect(await child.exited).toEqual({ code: 7 });
      }
    }
  });

  it.each([
    ['leaves', 'with a writable root', ['--bind', '/', '/'], true],
    ['leaves', 'with a read-only root', ['--ro-bind', '/', '/'], true],
    ['puts nothing in the place of', 'without the disk', ['--tmpfs', '/'], false],
  ])('%s the procfs of the machine, read-only, where it mounts none of its own: a view %s', (_, __, args, isThere) => {
    const view = {
      args,
      emptyFiles: 0,
      mountPoints: [],
      refused: [],
      mounts: [],
      procDirectories: [],
      visibleProgram: undefined,
    };
    const how = { network: 'own', pids: 'own', filter: undefined } as const;
    const words = launcherArgs(view, { usable: true, path: '/usr/bin/bwrap', proc: false }, how).join(' ');
    expect(words.includes(`${args.join(' ')} --ro-bind /proc /proc`)).toBe(isThere);
  });

  it('gets no variable of the command, whose environment is in no argument', () => {
    const { command: confined } = confine(
      sandboxes,
      { ...command, env: { LD_PRELOAD: '/x.so', TOKEN: 's3cret' } },
      readOnlyPolicy,
    );
    expect(confined.env).toEqual({});
    expect(confined.argv.join(' ')).not.toContain('s3cret');
  });
});
