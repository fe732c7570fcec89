import { readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { addon } from '../../../src/host/os/addon.ts';
import type { Child } from '../../../src/host/os/index.ts';
import { searchedMarks } from '../../../src/host/os/own-families.ts';
import { eventually } from '../../support/proc.ts';
import { start } from './fixture.ts';

/** A child of this process that has left its namespaces, and so counts as a sandbox. */
async function startApart(): Promise<Child> {
  const child = start(['unshare', '--user', '--mount', 'sleep', '600']);
  const own = readlinkSync('/proc/self/ns/mnt');
  await eventually('a mount namespace', () => readlinkSync(`/proc/${child.pid}/ns/mnt`) !== own);
  return child;
}

/** All sandboxes are stopped for it: no process holds such a socket. */
const searchInVain = () => addon().searchHolders(BigUint64Array.of(1n), searchedMarks(), true);

it('a child that is killed while sandboxes are stopped for a search tells its end', async () => {
  const children = await Promise.all(Array.from({ length: 40 }, startApart));
  const began = performance.now();
  await searchInVain();
  const lasted = performance.now() - began;
  const ends: unknown[] = [];
  for (const [index, child] of children.entries()) {
    const searching = searchInVain();
    await delay((lasted * index) / children.length);
    child.signal(constants.signals.SIGKILL);
    ends.push(await Promise.race([child.exited, delay(1000, 'none')]));
    await searching;
  }

  expect(ends).toEqual(children.map(() => ({ signal: constants.signals.SIGKILL })));
});
