import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EscalationFixture, interceptions } from './fixture.ts';

describe.each(interceptions)('refusals of the sandbox of a shell (--intercept=%s)', (intercept) => {
  it('are told to a client that asks, by the listener that intercepts execs', async () => {
    await using fixture = await EscalationFixture.open({
      intercept,
      rules: 'prefix_rule(pattern = ["touch"])',
      denials: true,
    });
    await fixture.allowWork();

    const made = await fixture.run(
      `touch ${fixture.outside}/made; mkdir ${fixture.outside}/d; cd ${fixture.outside}; : > file`,
    );
    expect(existsSync(join(fixture.outside, 'made'))).toBe(true); // it was let out: the rules allow it
    expect(made).toMatchObject({ exit_code: 1, sandbox_denied: true });
    expect(made.denials).toEqual([
      { kind: 'write', path: `file://${fixture.outside}/d`, program: 'mkdir' },
      { kind: 'write', path: `file://${fixture.outside}/file`, program: expect.stringContaining('bash') },
    ]);
  });

  it('are told of sockets', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules: '', denials: true });
    const { denials } = await fixture.run(`perl -MSocket -e 'socket(my $s, AF_INET, SOCK_STREAM, 0) or exit 7'`);
    expect(denials).toEqual([{ kind: 'network', program: 'perl' }]);
  });

  it('are not what a command prints', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules: '', denials: true });
    const result = await fixture.run("echo 'Permission denied'; echo x > made; rm made; exit 1");
    expect(result).toMatchObject({ exit_code: 1, sandbox_denied: true, denials: [expect.anything()] });
    await fixture.allowWork();
    const allowed = await fixture.run("echo 'Permission denied'; echo x > made; rm made; exit 1");
    expect(allowed).toMatchObject({ exit_code: 1, sandbox_denied: false, denials: [] });
  });

  it('are not told to a client that does not ask', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules: '' });
    const result = await fixture.run('mkdir /new');
    expect(result).toMatchObject({ exit_code: 1, sandbox_denied: true });
    expect(result).not.toHaveProperty('denials');
  });
});
