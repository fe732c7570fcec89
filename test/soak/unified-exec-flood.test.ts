import { setInterval } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ExecFixture, type Place } from '../system/unified-exec/fixture.ts';

const places: Place[] = ['here', 'server'];
const floodBytes = 2 ** 30;
/** Several times the buffers of one command, and far below what it prints. */
const mostBytes = 256 * 2 ** 20;

async function highestUse(signal: AbortSignal): Promise<number> {
  let highest = 0;
  try {
    for await (const _ of setInterval(20, undefined, { signal }))
      highest = Math.max(highest, process.memoryUsage.rss());
  } catch {
    // aborted: the flood is over
  }
  return highest;
}

describe.each(places)('a gibibyte of output from a command run %s', (place) => {
  it('is counted exactly and costs no more memory than its buffers', async () => {
    await using box = await ExecFixture.open(place, { forgetsOutput: true });
    await box.run('true');
    const before = process.memoryUsage.rss();
    const stop = new AbortController();
    const highest = highestUse(stop.signal);

    let { facts } = await box.run(`head -c ${floodBytes} /dev/zero | tr '\\0' x`, { yield_time_ms: 250 });
    let tokens = facts!.original_token_count!;
    while (facts!.session_id !== undefined) {
      ({ facts } = await box.poll(facts!.session_id));
      tokens += facts!.original_token_count!;
    }
    const end = await box.event('ExecCommandEnd', 'call_2');
    stop.abort();

    expect(end.stdout).toContain(`... ${floodBytes - 2 ** 20} bytes omitted ...`);
    expect(tokens).toBeGreaterThanOrEqual(floodBytes / 4); // each call rounds up
    expect((await highest) - before).toBeLessThan(mostBytes);
  });
});
