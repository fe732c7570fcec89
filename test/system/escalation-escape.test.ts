import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { interceptions, Site } from './escalation-fixture.ts';

const rules = `
prefix_rule(pattern = ["touch"])
prefix_rule(pattern = ["printenv"])
prefix_rule(pattern = ["tool"])
`;

describe.each(interceptions)('no way out (--intercept=%s)', (intercept) => {
  it('leads through links of /proc, which mean another place the next moment', async () => {
    await using site = await Site.open({ intercept, rules });
    await site.allowWork();

    const { stdout } = await site.run(
      'PATH=/proc/self/cwd:/proc/$$/root/bin:/dev/fd/9:/usr/bin /usr/bin/printenv PATH',
    );
    const { stderr } = await site.run(`/proc/self/root/usr/bin/touch ${site.outside}/escaped`);

    expect(stdout).toBe('/usr/bin\n');
    expect(stderr).toContain('Read-only file system');
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is opened by another name: many programs do something else then', async () => {
    await using site = await Site.open({ intercept });
    writeFileSync(site.rulesFile, `prefix_rule(pattern = ["${join(site.outside, 'tool')}"])`);
    symlinkSync('/bin/touch', join(site.outside, 'tool'));

    await site.run(`exec -a sh ${site.outside}/tool ${site.outside}/escaped`);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);

    await site.run(`${site.outside}/tool ${site.outside}/escaped`);
    expect(existsSync(join(site.outside, 'escaped'))).toBe(true);
  });

  it('is left by an earlier call that could write somewhere else', async () => {
    await using site = await Site.open({ intercept, rules });
    await site.allowWork();
    await site.run(`printf '#!/bin/sh\\n: > ${site.outside}/escaped\\n' > tool; chmod +x tool`);

    await site.allowWork({ type: 'read-only' });
    await site.run('./tool');

    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });

  it('is opened by rules that a command has written', async () => {
    await using site = await Site.open({ intercept });
    const around = dirname(site.work);
    await site.allowWork({ type: 'workspace-write', writable_roots: [around], exclude_slash_tmp: true });
    const rule = `prefix_rule(pattern = ["sh"])`;

    const { stderr } = await site.run(`echo '${rule}' >> '${site.rulesFile}'`);
    writeFileSync(site.rulesFile, rule); // as if it had found a way
    await site.allowWork();
    await site.run(`sh -c ': > ${site.outside}/escaped'`);

    expect(stderr).toContain('Read-only file system');
    expect(existsSync(join(site.outside, 'escaped'))).toBe(false);
  });
});
