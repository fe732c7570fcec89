import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { policyOf } from '../../../../test/support/policy.ts';
import type { AccessPolicy } from '../policy/resolution.ts';
import { MountPlans } from './mount-plans.ts';
import { planMounts } from './plan.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-plans-')));
});
afterEach(() => rmSync(folder, { recursive: true }));

const writing = (path: string, more: Partial<AccessPolicy> = {}): AccessPolicy =>
  policyOf(
    [
      ['/', 'read'],
      [path, 'write'],
    ],
    more,
  );

describe('mount plans', () => {
  it('are used again as long as the disk stays the same', () => {
    const plans = new MountPlans(7);
    const first = plans.plan(writing(folder), []);
    writeFileSync(join(folder, 'unrelated'), '');

    expect(plans.plan(writing(folder), [])).toBe(first);
    expect(first).toEqual(planMounts(writing(folder), { firstEmpty: 7 }));
  });

  it('are made anew when an entry has appeared that must be protected', () => {
    const plans = new MountPlans(7);
    plans.plan(writing(folder), []);
    mkdirSync(join(folder, '.git'));
    writeFileSync(join(folder, '.git/config'), '');

    const { args } = plans.plan(writing(folder), []);
    expect(args.join(' ')).toContain(`--ro-bind ${join(folder, '.git')} `);
  });

  it('are made anew when a directory has been replaced', () => {
    const plans = new MountPlans(7);
    const work = join(folder, 'work');
    mkdirSync(work);
    const first = plans.plan(writing(work), []);
    rmSync(work, { recursive: true });
    expect(plans.plan(writing(work), []).args).not.toContain(work);
    mkdirSync(work);
    expect(plans.plan(writing(work), []).args).toEqual(first.args);
  });

  it('are not kept for policies with patterns, whose matches are searched for every time', () => {
    const plans = new MountPlans(7);
    const policy = writing(folder, { deniedGlobs: [`${folder}/*.env`] });
    writeFileSync(join(folder, 'a.env'), '');

    expect(plans.plan(policy, []).args).not.toContain(join(folder, 'a.env'));
    expect(plans.plan(policy, [join(folder, 'a.env')]).args).toContain(join(folder, 'a.env'));
  });

  it('are kept for the 16 policies that were used last', () => {
    const plans = new MountPlans(7);
    const paths = Array.from({ length: 17 }, (_, n) => join(folder, String(n)));
    for (const path of paths) mkdirSync(path);
    const first = plans.plan(writing(paths[0]!), []);
    for (const path of paths) plans.plan(writing(path), []);

    const again = plans.plan(writing(paths[0]!), []);
    expect(again).toEqual(first);
    expect(again).not.toBe(first);
    expect(plans.plan(writing(paths[16]!), [])).toBe(plans.plan(writing(paths[16]!), []));
  });
});
