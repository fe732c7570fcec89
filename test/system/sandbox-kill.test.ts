import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { childrenOf, gone, processesWith, uniqueSeconds } from '../support/proc.ts';
import { accounts, Yard } from './sandbox-fixture.ts';

// How far the sandbox is built when the signal comes is left to chance: many tries meet every step.
it.each(accounts)(
  'a command that is killed while its sandbox is being built never runs on, under $name',
  async (account) => {
    await using yard = await Yard.open(account);
    for (let turn = 0; turn < 40; turn++) {
      const seconds = uniqueSeconds();
      const process = await yard.start(`exec sleep ${seconds}`);
      for (let step = 0; step < turn % 10; step++) await yard.client.call('environment/status');
      await yard.client.call('process/signal', { processId: process.id, signal: 'kill' });
      await process.closed();
      await gone(processesWith(seconds));
    }
    expect(readdirSync(yard.workspace).sort()).toEqual(['.git', 'a.txt', 'sub']);
  },
);

it.each(accounts)('a launcher that waits for the next command ends with its server, under $name', async (account) => {
  await using yard = await Yard.open(account);
  const server = yard.server.pid;
  const launchers = () =>
    processesWith('--args').filter((pid) => childrenOf(server).some((child) => child.pid === pid));
  expect(await yard.run('exit 7')).toMatchObject({ exitCode: 7 });
  const isForCommands = (pid: number) => processesWith('run').includes(pid);
  await expect.poll(() => launchers().filter(isForCommands)).toHaveLength(1);
  const waiting = launchers();
  process.kill(server, 'SIGKILL');
  await gone(waiting);
});
