import { describe, expect, it } from 'vitest';
import { interceptions, Site } from '../system/escalation-fixture.ts';

describe.each(interceptions)('many execs of the shell tool (--intercept=%s)', (intercept) => {
  it.each([
    ['run', ''],
    ['escalate', 'prefix_rule(pattern = ["true"])'],
    ['deny', 'prefix_rule(pattern = ["true"], decision = "forbidden")'],
  ])('loses none of many execs, one after the other or at once: %s', async (outcome, text) => {
    await using site = await Site.open({ intercept, rules: text });
    const ok = outcome === 'deny' ? '!' : '';
    const limit = { timeout_ms: 50_000 };

    const sequential = await site.run(
      `n=0; for ((i = 0; i < 1000; i++)); do if ${ok} /bin/true a$i 2>/dev/null; then ((n++)); fi; done; echo $n`,
      limit,
    );
    const parallel = await site.run(
      `for ((i = 0; i < 300; i++)); do /bin/true a$i 2>/dev/null & pids[i]=$!; done; n=0; for p in "\${pids[@]}"; do if ${ok} wait $p; then ((n++)); fi; done; echo $n`,
      limit,
    );

    expect([sequential, parallel].map(({ stdout }) => stdout)).toEqual(['1000\n', '300\n']);
  });
});
