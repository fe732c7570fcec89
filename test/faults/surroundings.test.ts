import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { argumentsOf, childrenOf, eventually } from '../support/proc.ts';
import { base64, connectBare, resume } from '../support/wire-client.ts';
import { afterShell, type Circumstances, runBeside, survives, unshared } from './fault-rig.ts';

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
    const circumstances = { env: clock.env, args: ['--detached-session-ttl-ms', '60000'] };
    await survives(circumstances, async (rig) => {
      const first = await connectBare(rig.server.url);
      const sessionId = await first.initialize();
      const command = { argv: ['sh', '-c', 'read go; seq 1 300000'], pipeStdin: true, processId: 'p' };
      await first.start(command);
      first.cut();
      clock.step(seconds);
      await rig.serves();

      await using second = await resume(rig.server.url, sessionId);
      const printing = second.track('p');
      await second.call('process/write', { processId: 'p', writeId: 'w', chunk: base64('\n') });
      await printing.closed();
      expect(sha256(printing.bytes())).toBe(sha256(numbersTo(300_000)));
      clock.step(0);
    })();
  });
});

describe('a server that is the first process', () => {
  const asFirst = { under: unshared('--pid', '--fork', '--mount-proc', '--kill-child'), isWrapped: true };

  it(
    'reaps the orphans of its commands, and of others in its container',
    survives(asFirst, async (rig) => {
      const first = childrenOf(rig.server.pid)[0]!.pid;
      const orphans = ['sh', '-c', 'sleep 0.05 & sleep 0.05 & exit 0'];
      await using client = await rig.connect();
      for (let n = 0; n < 20; n++) await (await client.start({ argv: orphans })).closed();
      runBeside(first, orphans);
      const left = () => [first, rig.pid].flatMap(childrenOf).filter(({ state }) => state === 'Z');
      await eventually('the end of all sleeps', () =>
        childrenOf(first).every(({ pid }) => !argumentsOf(pid).includes('0.05')),
      );
      await eventually('an end of all zombies', () => left().length === 0);
    }),
  );

  it(
    'passes the signal that ends it on to the server, and its exit code back',
    survives(asFirst, async (rig) => {
      const [first] = childrenOf(rig.server.pid);
      expect(childrenOf(first!.pid).map(({ pid }) => pid)).toContain(rig.pid);
    }),
  );

  it(
    'gives commands 1024 descriptors, whatever limit the first process has',
    survives({ ...asFirst, under: [...afterShell('ulimit -S -n 512'), ...asFirst.under] }, async (rig) => {
      await using client = await rig.connect();
      const command = await client.start({ argv: ['sh', '-c', 'ulimit -S -n'] });
      await command.closed();
      expect(command.output('stdout')).toBe('1024\n');
    }),
  );
});

/** The folder of the test is all that can be written; the home is the one of all tests. */
function readOnlyRoot(folder: string): Circumstances {
  const script = `mount --make-rprivate / && mount --rbind ${folder} ${folder} && mount -o remount,bind,ro /`;
  const { HOME, TMPDIR = '/tmp' } = process.env;
  return { under: [...unshared('--mount'), ...afterShell(script)], env: { HOME, TMPDIR } };
}

describe('a server without what others have', () => {
  it(
    'serves on a root that is read-only',
    survives(readOnlyRoot, async (rig) => {
      const mountinfo = readFileSync(`/proc/${rig.pid}/mountinfo`, 'utf8');
      expect(mountinfo).toMatch(/^\d+ \d+ \S+ \/ \/ ro,/m);
    }),
  );

  it.each([
    ['no HOME', () => 'unset HOME'],
    ['a HOME that is not there', (folder: string) => `HOME=${folder}/missing; export HOME`],
    ['a HOME that is a file', () => 'HOME=/etc/hostname; export HOME'],
  ])('serves with %s', (_, script) =>
    survives(
      (folder) => ({ under: afterShell(script(folder)) }),
      (rig) => rig.serves(),
    )(),
  );
});
