import { expect, it } from 'vitest';
import { childrenOf, descriptorsOf, residentMiB } from '../support/proc.ts';
import { startPreparedServer } from '../support/server.ts';
import { connect } from '../support/wire-client.ts';

it('10,000 starts leave descriptors and children as they were, and memory bounded', async () => {
  await using server = await startPreparedServer({ args: ['--detached-session-ttl-ms', '0'] });
  const before = descriptorsOf(server.pid); // that of the first client may be among them
  // What is below the number of before counts as it: nothing more is left.
  const facts = () => ({
    descriptors: Math.max(before, descriptorsOf(server.pid)),
    children: childrenOf(server.pid),
  });
  const children = childrenOf(server.pid);
  const memory = residentMiB(server.pid);
  for (let round = 0; round < 100; round++) {
    await using client = await connect(server.url);
    const starts = Array.from({ length: 100 }, (_, n) =>
      client.start({ argv: ['/bin/sh', '-c', 'echo $0; exit 3', `${n}`], tty: n % 4 === 0, pipeStdin: n % 3 === 0 }),
    );
    for (const process of await Promise.all(starts)) expect(await process.exited()).toBe(3);
  }
  await expect.poll(facts, { timeout: 20_000 }).toEqual({ descriptors: before, children });
  expect(residentMiB(server.pid) - memory).toBeLessThan(200);
});
