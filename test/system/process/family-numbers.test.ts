import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PROCESSES, SESSIONS } from '../../../src/host/os/family-mark.ts';
import { claimServerNumber, processMarks, sessionNumbers } from '../../../src/host/os/family-numbers.ts';
import { familyMark, killFamily, ownSessions, PROCESS_MASK, SESSION_MASK } from '../../../src/host/os/index.ts';
import { appeared, isAlive, uniqueSeconds } from '../../support/proc.ts';
import { startServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';
import { start } from '../native/fixture.ts';

describe('when all numbers have been given', () => {
  it('a process that still runs is not killed with the next that would get its number', async () => {
    const nextMark = processMarks(claimServerNumber(), 3);
    await using old = start(['sleep', '600'], { mark: nextMark() });
    for (let given = 1; given < PROCESSES; given++) nextMark();
    expect(await killFamily(nextMark(), PROCESS_MASK)).toBe(0);
    expect(old.signal(0)).toBe(true);
  });

  it('a process that outlives its session is not killed with the next session that would get its number', async () => {
    const server = claimServerNumber();
    const numbers = sessionNumbers(server, () => []);
    await using old = start(['sleep', '600'], { mark: familyMark(server, numbers.take(), 7) });
    for (let given = 1; given < SESSIONS; given++) numbers.take();
    expect(await killFamily(familyMark(server, numbers.take(), 0), SESSION_MASK)).toBe(0);
    expect(old.signal(0)).toBe(true);
  });

  it('the helpers of the server are not killed with any session', async () => {
    const server = claimServerNumber();
    const numbers = sessionNumbers(server, () => []);
    await using helper = start(['sleep', '600'], { mark: familyMark(server, ownSessions.helpers, 7) });
    let last = 0;
    for (let given = 0; given < SESSIONS; given++) last = numbers.take();
    for (const session of [last, numbers.take()]) {
      expect(await killFamily(familyMark(server, session, 0), SESSION_MASK)).toBe(0);
    }
    expect(helper.signal(0)).toBe(true);
  });
});

it('a server that draws the number of another ends none of its processes', async () => {
  const env = {
    NODE_OPTIONS: `--require=${fileURLToPath(new URL('../../support/server-number.cjs', import.meta.url))}`,
    FIRST_SERVER_NUMBER: String(randomInt(2 ** 22 - 100)),
  };
  await using first = await startServer({ env });
  await using firstClient = await connect(first.url);
  const seconds = uniqueSeconds();
  await firstClient.start({ argv: ['sleep', seconds] });
  const [survivor] = await appeared(seconds);

  await using second = await startServer({ env });
  await using secondClient = await connect(second.url);
  const other = uniqueSeconds();
  await secondClient.start({ argv: ['sleep', other] });
  await appeared(other);
  expect(await second.stop()).toBe(0);

  expect(isAlive(survivor!)).toBe(true);
});
