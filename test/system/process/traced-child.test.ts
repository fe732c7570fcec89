import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eventually, stateOf } from '../../support/proc.ts';
import { startPreparedServer } from '../../support/server.ts';
import { Tracer } from '../../support/tracer.ts';
import { connect, type WebSocketClient } from '../../support/wire-client.ts';

/** Processor time of a process so far, in hundredths of a second. */
function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return Number(user) + Number(system);
}

/** What the server uses while a command of two seconds runs. */
async function ticksDuringCommand(pid: number, client: WebSocketClient): Promise<number> {
  const before = ticksOf(pid);
  await (await client.start({ argv: ['sleep', '2'] })).closed();
  return ticksOf(pid) - before;
}

it('a child that is held dead by a tracer costs no processor time, and ends when it is let go', async () => {
  await using server = await startPreparedServer();
  await using client = await connect(server.url);
  const held = await client.start({ argv: ['sh', '-c', 'echo $$; exec sleep 900'] });
  const pid = Number(await held.printed('\n'));
  {
    await using _tracer = await Tracer.of(pid);
    process.kill(pid, 'SIGKILL');
    await eventually('a zombie', () => stateOf(pid) === 'Z');
    expect(await ticksDuringCommand(server.pid, client)).toBeLessThan(25); // of 200: one that is asked again and again takes what it gets
  }
  expect(await held.exited()).toBe(137);
  await held.closed();
});
