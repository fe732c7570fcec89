import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { appeared, argumentsOf, childrenOf, gone, isAlive, uniqueSeconds } from '../support/proc.ts';
import { serverProgram } from '../support/server.ts';
import { FaultRig, slow } from './fault-rig.ts';

/** Children of the server, by what they are. */
function childrenNamed(pid: number, name: RegExp): number[] {
  return childrenOf(pid)
    .map((child) => child.pid)
    .filter((child) => {
      const [program = ''] = argumentsOf(child);
      return program !== '' && name.test(program); // the dead have none
    });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has just ended by itself
  }
}

describe('a server whose own processes are killed', () => {
  it('gets another guardian', async () => {
    await using rig = await FaultRig.start();
    const guardians = childrenNamed(rig.pid, /guardian/);
    expect(guardians.length).toBe(1);

    process.kill(guardians[0]!, 'SIGKILL');
    await gone(guardians);

    await expect.poll(() => childrenNamed(rig.pid, /guardian/).length, { timeout: 20_000 }).toBe(1);
    await rig.recovered();
  });

  it('serves on when waiting launchers and warm helpers are killed', async () => {
    await using rig = await FaultRig.start();
    for (let round = 0; round < 3; round++) {
      const others = childrenNamed(rig.pid, /^(?!.*guardian)/s);
      for (const pid of others) kill(pid);
      await gone(others);
      await rig.serves();
    }
    await rig.recovered();
  });

  it('ends a command whose launcher is killed, and everything it started', async () => {
    await using rig = await FaultRig.start();
    {
      await using client = await rig.connect();
      const seconds = uniqueSeconds();
      const before = new Set(childrenOf(rig.pid).map(({ pid }) => pid));
      const { sandbox } = rig;
      const script = `setsid sleep ${seconds} & exec sleep ${seconds}`;
      const command = await client.start({ argv: ['sh', '-c', script], cwd: rig.uri(''), sandbox });
      const sleeping = await appeared(seconds, 2);
      const launchers = childrenOf(rig.pid).filter(({ pid }) => !before.has(pid));
      const known = childrenNamed(rig.pid, /^(?!.*guardian)/s);

      for (const pid of launchers.length > 0 ? launchers.map((launcher) => launcher.pid) : known) {
        process.kill(pid, 'SIGKILL');
      }

      await Promise.race([command.closed(), client.call('process/terminate', { processId: command.id })]);
      await command.closed();
      await gone(sleeping);
    }
    await rig.recovered();
  });
});

describe('a peer that is stopped', () => {
  it('does not hold up others, and has missed nothing when it goes on', async () => {
    await using rig = await FaultRig.start();
    const lines = 3_000_000;
    const args = [serverProgram, 'run', '--connect', rig.server.url, '--', 'seq', '1', `${lines}`];
    const run = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(run.stdout, 'readable');
    run.kill('SIGSTOP');

    await rig.serves();
    run.kill('SIGCONT');

    expect(sha256(await buffer(run.stdout))).toBe(sha256(numbersTo(lines)));
    await rig.recovered();
  });

  slow('is a server: its client gets every byte after it goes on', async () => {
    await using rig = await FaultRig.start();
    const lines = 3_000_000;
    const args = [serverProgram, 'run', '--connect', rig.server.url, '--', 'seq', '1', `${lines}`];
    const run = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const output = buffer(run.stdout);
    await once(run.stdout, 'data');

    for (let round = 0; round < 5; round++) {
      process.kill(rig.pid, 'SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, 300));
      process.kill(rig.pid, 'SIGCONT');
    }

    expect(sha256(await output)).toBe(sha256(numbersTo(lines)));
    await rig.recovered();
  });

  it('is a guardian: the server ends all the same', async () => {
    const rig = await FaultRig.start();
    const guardians = childrenNamed(rig.pid, /guardian/);
    const seconds = uniqueSeconds();
    const client = await rig.connect();
    await client.start({ argv: ['sleep', seconds] });
    const sleeping = await appeared(seconds);
    for (const pid of guardians) process.kill(pid, 'SIGSTOP');

    expect(await rig.server.stop()).toBe(0);

    await gone(sleeping);
    for (const pid of guardians) if (isAlive(pid)) process.kill(pid, 'SIGCONT');
    await gone(guardians);
    await rig[Symbol.asyncDispose]();
  });
});
