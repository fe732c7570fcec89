import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { argumentsOf, childrenOf, eventually } from '../support/proc.ts';
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
  const asFirst = { under: unshared('--pid', '--fork', '--mount-proc', '--kill-child'), isWrapped: true };

  it('reaps the orphans of its commands, and of others in its container', async () => {
    await using rig = await FaultRig.start(asFirst);
    const first = childrenOf(rig.server.pid)[0]!.pid;
    const inside = ['--target', String(first), '--pid', ...(process.getuid!() === 0 ? [] : ['--user'])];
    const orphans = ['sh', '-c', 'sleep 0.05 & sleep 0.05 & exit 0'];
    {
      await using client = await rig.connect();
      for (let n = 0; n < 20; n++) await (await client.start({ argv: orphans })).closed();
      execFileSync('nsenter', [...inside, ...orphans]);
    }
    const left = () => [first, rig.pid].flatMap(childrenOf).filter(({ state }) => state === 'Z');
    await eventually('the end of all sleeps', () =>
      childrenOf(first).every(({ pid }) => !argumentsOf(pid).includes('0.05')),
    );
    await eventually('an end of all zombies', () => left().length === 0);
    await rig.recovered();
  });

  it('ends with the exit code of a server that is told to stop', async () => {
    await using rig = await FaultRig.start(asFirst);
    const ended = once(rig.server.process, 'exit');
    process.kill(childrenOf(rig.server.pid)[0]!.pid, 'SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('gives commands 1024 descriptors, whatever limit the first process has', async () => {
    await using rig = await FaultRig.start({
      ...asFirst,
      under: [...afterShell('ulimit -S -n 512'), ...asFirst.under],
    });
    await using client = await rig.connect();
    const command = await client.start({ argv: ['sh', '-c', 'ulimit -S -n'] });
    await command.closed();
    expect(command.output('stdout')).toBe('1024\n');
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
