import { describe, expect, it } from 'vitest';
import { countExecs, EscalationFixture, interceptions, outcomesOfTrue } from '../system/escalation/fixture.ts';

describe.each(interceptions)('many execs of the shell tool (--intercept=%s)', (intercept) => {
  it.each(outcomesOfTrue)('loses none of many execs, one after the other or at once: %s', async (outcome, rules) => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    const times = { sequential: 1000, parallel: 300 };

    expect(await countExecs(fixture, outcome, times)).toEqual(times);
  });
});
