import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { USUAL_HELPER_PLACE } from '../../../src/host/sandbox/launch/stage-place.ts';
import { childrenOf, gone, processesWith, uniqueSeconds } from '../../support/proc.ts';
import { accounts, SandboxFixture } from './fixture.ts';

describe.each(accounts)('a sandboxed command of $name', (account) => {
  const trapping = 'trap "echo bye; exit 3" INT TERM; echo ready; while :; do sleep 0.05; done';
  const wirings = [
    { wiring: 'behind pipes', options: {} },
    { wiring: 'in a terminal', options: { tty: true } },
    { wiring: 'in the network of the host', options: { network: 'enabled' as const } },
  ];

  it.each(wirings)('gets signals, can print and choose its exit code, $wiring', async ({ options }) => {
    await using fixture = await SandboxFixture.open(account);
    for (const signal of ['interrupt', 'terminate']) {
      const command = await fixture.start(trapping, options);
      await command.printed('ready');
      await fixture.client.call('process/signal', { processId: command.id, signal });
      await command.closed();
      expect([await command.exited(), command.output()]).toEqual([3, expect.stringContaining('bye')]);
    }
  });

  it('is asked to end before it is killed when it is terminated gracefully, and when its server stops', async () => {
    await using fixture = await SandboxFixture.open(account);
    const [ended, stopped] = [await fixture.start(trapping), await fixture.start(trapping)];
    await Promise.all([ended.printed('ready'), stopped.printed('ready')]);
    await fixture.client.call('process/terminate', {
      processId: ended.id,
      mode: { type: 'graceful', timeoutMs: 30_000 },
    });
    await ended.closed();
    process.kill(fixture.server.pid, 'SIGTERM');
    await stopped.closed();
    expect(await Promise.all([ended.exited(), stopped.exited()])).toEqual([3, 3]);
    expect([ended.output(), stopped.output()]).toEqual([
      expect.stringContaining('bye'),
      expect.stringContaining('bye'),
    ]);
  });
});

// How far the sandbox is built when the signal comes is left to chance: many tries meet every step.
it.each(accounts)(
  'a command that is killed while its sandbox is being built never runs on, under $name',
  async (account) => {
    await using fixture = await SandboxFixture.open(account);
    for (let turn = 0; turn < 40; turn++) {
      const seconds = uniqueSeconds();
      const process = await fixture.start(`exec sleep ${seconds}`);
      for (let step = 0; step < turn % 10; step++) await fixture.client.call('environment/status');
      await fixture.client.call('process/signal', { processId: process.id, signal: 'kill' });
      await process.closed();
      await gone(processesWith(seconds));
    }
    expect(readdirSync(fixture.workspace).sort()).toEqual(['.git', 'a.txt', 'sub']);
  },
);

it.each(accounts)('a launcher that waits for the next command ends with its server, under $name', async (account) => {
  await using fixture = await SandboxFixture.open(account);
  const server = fixture.server.pid;
  const launchers = () =>
    processesWith('--args').filter((pid) => childrenOf(server).some((child) => child.pid === pid));
  expect(await fixture.run('exit 7')).toMatchObject({ exitCode: 7 });
  const isForCommands = (pid: number) => processesWith('init').includes(pid);
  await expect.poll(() => launchers().filter(isForCommands)).toHaveLength(1);
  const waiting = launchers();
  process.kill(server, 'SIGKILL');
  await gone(waiting);
});

// Again left to chance: a launcher that dies with its server between two steps does not take its child with it.
it.each(accounts)(
  'a server that is killed while it prepares for sandboxes leaves no launcher behind, under $name',
  async (account) => {
    const earlier = processesWith(USUAL_HELPER_PLACE);
    for (let turn = 0; turn < 12; turn++) {
      await using fixture = await SandboxFixture.open(account);
      for (let step = 0; step < 5 * turn; step++) await fixture.client.call('environment/status');
      process.kill(fixture.server.pid, 'SIGKILL');
      await gone(fixture.server.pid);
    }
    const orphans = childrenOf(1).map(({ pid }) => pid);
    await gone(processesWith(USUAL_HELPER_PLACE).filter((pid) => orphans.includes(pid) && !earlier.includes(pid)));
  },
);
