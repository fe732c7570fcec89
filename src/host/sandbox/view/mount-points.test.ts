import { existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed } from '../../../../test/support/mount-points.ts';
import { pathText } from '../../os/index.ts';
import { MountPoints } from './mount-points.ts';

describe('mount points', () => {
  let folder: string;
  let point: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'exec-server-points-'));
    point = join(folder, '.codex');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('are removed with the last sandbox that uses them', () => {
    const points = new MountPoints();
    const first = claimed(points, point);
    const second = claimed(points, point);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(existsSync(point)).toBe(true);
    second[Symbol.dispose]();
    expect(existsSync(point)).toBe(false);
  });

  it('are made once, when they are needed', () => {
    const points = new MountPoints();
    using claim = points.claim([point]);
    expect(existsSync(point)).toBe(false);
    claim.prepare();
    claim.prepare();
    expect(existsSync(point)).toBe(true);
  });

  it('may be files', () => {
    const file = join(folder, 'file');
    const claim = claimed(new MountPoints(), file);
    expect(lstatSync(file).isFile()).toBe(true);
    claim[Symbol.dispose]();
    expect(existsSync(file)).toBe(false);
  });

  it('are removed where names are not valid UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from(`${folder}/`), Buffer.of(0xff), Buffer.from('/.codex')]);
    mkdirSync(bytes.subarray(0, -'/.codex'.length));
    const claim = claimed(new MountPoints(), pathText(bytes));
    expect(existsSync(bytes)).toBe(true);
    claim[Symbol.dispose]();
    expect(existsSync(bytes)).toBe(false);
  });

  it('stay when they are not empty any more', () => {
    const claim = claimed(new MountPoints(), point, join(folder, 'file'));
    mkdirSync(join(point, 'x'), { recursive: true });
    truncateSync(join(folder, 'file'), 1);
    claim[Symbol.dispose]();
    expect([existsSync(point), existsSync(join(folder, 'file'))]).toEqual([true, true]);
  });

  it('are removed when another server removed its own and bubblewrap made a new one', () => {
    mkdirSync(point);
    const points = new MountPoints();
    const first = claimed(points, point);
    const another = join(folder, 'another');
    mkdirSync(another);
    renameSync(another, point);
    const second = claimed(points, point);
    first[Symbol.dispose]();
    expect(existsSync(point)).toBe(true);
    second[Symbol.dispose]();
    expect(existsSync(point)).toBe(false);
  });

  it('stay while another server has something mounted on them', () => {
    const [one, other] = [new MountPoints(), new MountPoints()];
    const first = claimed(one, point);
    const second = claimed(other, point);
    first[Symbol.dispose]();
    one.removeStuck();
    expect(existsSync(point)).toBe(true);
    second[Symbol.dispose]();
    one.removeStuck();
    expect(existsSync(point)).toBe(false);
  });

  it('are left alone when they were there before', () => {
    mkdirSync(point);
    claimed(new MountPoints(), point)[Symbol.dispose]();
    expect(existsSync(point)).toBe(true);
  });
});
