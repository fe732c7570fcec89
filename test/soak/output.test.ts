import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { peakMiB, residentMiB } from '../support/proc.ts';
import { Recovery } from '../support/recovery.ts';
import { randomFrom, seedFrom } from '../support/seeded.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { connect, connectBare, resume } from '../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const seed = seedFrom('SOAK_SEED');
const count = 761_904; // a good 5 MB of numbers
const expected = sha256(numbersTo(count));
const flood = (tty: boolean) => ({ argv: ['sh', '-c', `stty -opost 2>/dev/null; exec seq 1 ${count}`], tty });

describe('200 runs of 5 MB', () => {
  for (const tty of [true, false]) {
    for (const slowness of [0, 2]) {
      it(`lose no byte ${tty ? 'through a terminal' : 'through pipes'}${slowness ? ' with a consumer that takes 2 ms per message' : ''}`, async () => {
        for (let run = 0; run < 50; run++) {
          await using client = await connect(server.url, { slowness });
          const process = await client.start(flood(tty));
          await process.closed();
          expect({ run, digest: sha256(process.bytes()) }).toEqual({ run, digest: expected });
        }
      });
    }
  }
});

it(`50 runs of 5 MB lose no byte when the connection is cut and resumed at a random moment (SOAK_SEED=${seed})`, async () => {
  const random = randomFrom(seed);
  for (let run = 0; run < 50; run++) {
    const tty = run % 2 === 0;
    const first = await connectBare(server.url, { slowness: run % 3 === 0 ? 2 : 0 });
    const sessionId = await first.initialize();
    const { tracked } = first.begin({ ...flood(tty), processId: 'p' });
    const cutAt = 1 + random(60);
    const awayMs = random(40);
    await tracked.until(() => tracked.notices.length >= cutAt || tracked.output().endsWith(`\n${count}\n`));
    first.cut();
    await first.closed;
    const lastSeq = tracked.lastSeq;
    const seen = tracked.bytes();
    await delay(awayMs); // how long the client is away is part of the scenario

    await using second = await resume(server.url, sessionId);
    const recovery = new Recovery(second, 'p', lastSeq);
    await recovery.finish();
    const digest = sha256(Buffer.concat([seen, recovery.bytes()]));
    expect({ seed, run, cutAt, awayMs, gaps: recovery.gaps, digest }).toEqual({
      seed,
      run,
      cutAt,
      awayMs,
      gaps: [],
      digest: expected,
    });
  }
});

it('a consumer that stalls for 3 s keeps memory bounded and loses nothing', async () => {
  await using fresh = await startServer();
  await using client = await connect(fresh.url);
  const idle = residentMiB(fresh.pid);
  const { tracked } = client.begin({ argv: ['seq', '1', '6000000'] });
  await tracked.until(() => tracked.notices.length > 10);
  client.socket.pause();
  await delay(3000); // the stall itself
  const stalled = peakMiB(fresh.pid);
  client.socket.resume();
  await tracked.closed();
  expect(sha256(tracked.bytes())).toBe(sha256(numbersTo(6_000_000)));
  expect(stalled - idle).toBeLessThan(200);
});
