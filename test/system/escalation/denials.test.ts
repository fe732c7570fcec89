import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { interceptions, Site } from './fixture.ts';

describe.each(interceptions)('refusals of the sandbox of a shell (--intercept=%s)', (intercept) => {
  it('are told to a client that asks, by the listener that intercepts execs', async () => {
    await using site = await Site.open({ intercept, rules: 'prefix_rule(pattern = ["touch"])', denials: true });
    await site.allowWork();

    const made = await site.run(`touch ${site.outside}/made; mkdir ${site.outside}/d; cd ${site.outside}; : > file`);
    expect(existsSync(join(site.outside, 'made'))).toBe(true); // it was let out: the rules allow it
    expect(made).toMatchObject({ exit_code: 1, sandbox_denied: true });
    expect(made.denials).toEqual([
      { kind: 'write', path: `file://${site.outside}/d`, program: 'mkdir' },
      { kind: 'write', path: `file://${site.outside}/file`, program: expect.stringContaining('bash') },
    ]);
  });

  it('are told of sockets', async () => {
    await using site = await Site.open({ intercept, rules: '', denials: true });
    const { denials } = await site.run(`perl -MSocket -e 'socket(my $s, AF_INET, SOCK_STREAM, 0) or exit 7'`);
    expect(denials).toEqual([{ kind: 'network', program: 'perl' }]);
  });

  it('are not what a command prints', async () => {
    await using site = await Site.open({ intercept, rules: '', denials: true });
    const result = await site.run("echo 'Permission denied'; echo x > made; rm made; exit 1");
    expect(result).toMatchObject({ exit_code: 1, sandbox_denied: true, denials: [expect.anything()] });
    await site.allowWork();
    const allowed = await site.run("echo 'Permission denied'; echo x > made; rm made; exit 1");
    expect(allowed).toMatchObject({ exit_code: 1, sandbox_denied: false, denials: [] });
  });

  it('are not told to a client that does not ask', async () => {
    await using site = await Site.open({ intercept, rules: '' });
    const result = await site.run('mkdir /new');
    expect(result).toMatchObject({ exit_code: 1, sandbox_denied: true });
    expect(result).not.toHaveProperty('denials');
  });
});
