import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { eventually } from '../support/proc.ts';
import { connectBare } from '../support/wire-client.ts';
import { afterShell, FaultRig, unshared } from './fault-rig.ts';

/** The time of the day of a process, in seconds from ours, by a library that is loaded into it. */
class ShiftedClock implements Disposable {
  readonly env: NodeJS.ProcessEnv;
  readonly #folder = mkdtempSync(join(tmpdir(), 'exec-server-clock-'));
  readonly #file: number;

  constructor() {
    const library = join(this.#folder, 'shifted-clock.so');
    const source = fileURLToPath(new URL('shifted-clock.c', import.meta.url));
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
    const path = join(this.#folder, 'shift');
    writeFileSync(path, Buffer.alloc(8));
    this.#file = openSync(path, 'r+');
    this.env = { LD_PRELOAD: library, SHIFT_FILE: path };
  }

  step(seconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    writeSync(this.#file, bytes, 0, 8, 0);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    rmSync(this.#folder, { recursive: true });
  }
}

const YEAR = 365 * 86_400;

describe('a clock that is set', () => {
  it('is seen by the server under test', () => {
    using clock = new ShiftedClock();
    clock.step(YEAR);
    const told = execFileSync(process.execPath, ['-p', 'Date.now()'], { env: { ...process.env, ...clock.env } });
    expect(Number(told)).toBeGreaterThan(Date.now() + (YEAR - 600) * 1000);
  });

  it.each([YEAR, -YEAR])('ends no session, process or wait: %d seconds', async (seconds) => {
    using clock = new ShiftedClock();
    await using rig = await FaultRig.start({ env: clock.env, args: ['--detached-session-ttl-ms', '60000'] });
    const first = await connectBare(rig.server.url);
    const sessionId = await first.initialize();
    const command = { argv: ['sh', '-c', 'read go; seq 1 300000'], pipeStdin: true, processId: 'p' };
    await first.start(command);
    first.cut();
    clock.step(seconds);
    await rig.serves();

    await using second = await connectBare(rig.server.url);
    for (;;) {
      const resumed = await second.initialize({ resumeSessionId: sessionId }).catch((error) => error);
      if (resumed === sessionId) break;
      expect(resumed).toMatchObject({ code: -32010 }); // still attached: the loss is not noticed yet
    }
    const process_ = second.track('p');
    await second.call('process/write', { processId: 'p', writeId: 'w', chunk: Buffer.from('\n').toString('base64') });
    await process_.closed();
    expect(sha256(process_.bytes())).toBe(sha256(numbersTo(300_000)));
    clock.step(0);
    await rig.serves();
  });
});

describe('a server that is the first process', () => {
  it.skip('reaps the orphans of its commands (skipped until the server reaps orphans as pid 1)', async () => {
    await using rig = await FaultRig.start({
      under: unshared('--pid', '--fork', '--mount-proc', '--kill-child'),
      isWrapped: true,
    });
    const zombies = (): string[] => {
      const list = execFileSync('ps', ['-eo', 'ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
      return list.filter((line) => new RegExp(`^\\s*${rig.pid} Z`).test(line));
    };
    {
      await using client = await rig.connect();
      for (let n = 0; n < 20; n++) {
        const parent = await client.start({ argv: ['sh', '-c', '(sleep 0.05 &) ; exit 0'] });
        await parent.closed();
      }
    }
    await eventually('an end of all zombies', () => zombies().length === 0);
    await rig.recovered();
  });
});

describe('a server without what others have', () => {
  it('serves on a root that is read-only', async () => {
    const folder = FaultRig.newFolder();
    const script = `mount --make-rprivate / && mount --rbind ${folder} ${folder} && mount -o remount,bind,ro /`;
    await using rig = await FaultRig.start({ under: [...unshared('--mount'), ...afterShell(script)] }, folder);
    const mountinfo = readFileSync(`/proc/${rig.pid}/mountinfo`, 'utf8');
    expect(mountinfo).toMatch(/^\d+ \d+ \S+ \/ \/ ro,/m);
    await rig.recovered();
  });

  it.each([
    ['no HOME', () => 'unset HOME'],
    ['a HOME that is not there', (folder: string) => `HOME=${folder}/missing; export HOME`],
    ['a HOME that is a file', () => 'HOME=/etc/hostname; export HOME'],
  ])('serves with %s', async (_, script) => {
    const folder = FaultRig.newFolder();
    await using rig = await FaultRig.start({ under: afterShell(script(folder)) }, folder);
    await rig.recovered();
  });
});
