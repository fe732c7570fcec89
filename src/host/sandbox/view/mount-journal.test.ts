import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed } from '../../../../test/support/mount-points.ts';
import { MountJournal, sweepMountPoints } from './mount-journal.ts';
import { MountPoints } from './mount-points.ts';

describe('the journal of mount points', () => {
  let folder: string;
  let journals: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'exec-server-journal-'));
    journals = join(folder, 'journals');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** As if the server that wrote the journal had died. */
  function bury(): void {
    const [name] = readdirSync(journals);
    const [boot, namespace] = name!.split('.');
    renameSync(join(journals, name!), join(journals, `${boot}.${namespace}.1.0`));
  }

  it('exists while there are mount points', () => {
    const points = new MountPoints(new MountJournal(journals));
    const claim = claimed(points, join(folder, '.codex'));
    expect(readdirSync(journals)).toHaveLength(1);
    claim[Symbol.dispose]();
    expect(readdirSync(journals)).toEqual([]);
  });

  it.each(['a directory that others may write', 'a link'])('is not looked for in %s', (place) => {
    const foreign = join(folder, 'foreign');
    for (const path of [foreign, join(foreign, 'own')]) mkdirSync(path, { mode: 0o700 });
    writeFileSync(join(foreign, 'own/precious'), '');
    const isLink = place === 'a link';
    if (!isLink) chmodSync(foreign, 0o777);
    symlinkSync('own', join(foreign, 'journals'));
    sweepMountPoints(join(foreign, isLink ? 'journals' : 'own'));
    expect(readdirSync(join(foreign, 'own'))).toEqual(['precious']);
  });

  it('is nothing that has another name', () => {
    mkdirSync(journals);
    writeFileSync(join(journals, 'precious'), '');
    sweepMountPoints(journals);
    expect(readdirSync(journals)).toEqual(['precious']);
  });

  it('of a living server is left alone', () => {
    const point = join(folder, '.codex');
    claimed(new MountPoints(new MountJournal(journals)), point);
    sweepMountPoints(journals);
    expect([existsSync(point), readdirSync(journals).length]).toEqual([true, 1]);
  });

  it('of a dead server tells what to take away: empty directories of the names we cover', () => {
    const points = ['.codex', '.agents', 'other'].map((name) => join(folder, name));
    new MountJournal(journals).add(points);
    for (const point of points) mkdirSync(point);
    writeFileSync(join(folder, '.agents/kept'), '');
    bury();
    sweepMountPoints(journals);
    expect(points.map((point) => existsSync(point))).toEqual([false, true, true]);
    expect(readdirSync(journals)).toEqual([]);
  });

  it('of a dead server is kept while a sandbox of another uses a mount point', () => {
    const point = join(folder, '.codex');
    new MountJournal(journals).add([point]);
    bury();
    using _ = claimed(new MountPoints(), point);
    sweepMountPoints(journals);
    expect([existsSync(point), readdirSync(journals).length]).toEqual([true, 1]);
  });

  it.skipIf(process.getuid!() === 0)('is kept while something cannot be taken away', () => {
    const point = join(folder, 'closed/.codex');
    claimed(new MountPoints(new MountJournal(journals)), point);
    mkdirSync(point, { recursive: true });
    chmodSync(join(folder, 'closed'), 0o555);
    bury();
    sweepMountPoints(journals);
    expect([existsSync(point), readdirSync(journals).length]).toEqual([true, 1]);
    chmodSync(join(folder, 'closed'), 0o755);
    sweepMountPoints(journals);
    expect([existsSync(point), readdirSync(journals)]).toEqual([false, []]);
  });

  it('is not written where others may write', () => {
    chmodSync(folder, 0o777);
    claimed(new MountPoints(new MountJournal(journals)), join(folder, '.codex'));
    expect(readdirSync(journals)).toEqual([]);
  });

  it('that a full disk or a crash has cut off tells of everything that is whole', () => {
    const [first, second] = [join(folder, 'first/.codex'), join(folder, 'second/.codex')];
    const points = new MountPoints(new MountJournal(journals));
    claimed(points, first);
    const [name] = readdirSync(journals);
    appendFileSync(join(journals, name!), `\n${JSON.stringify(join(folder, '.codex')).slice(0, -3)}`);
    claimed(points, second);
    for (const point of [first, second]) mkdirSync(point, { recursive: true });
    bury();
    sweepMountPoints(journals);
    expect([first, second].map((point) => existsSync(point))).toEqual([false, false]);
  });

  it('that cannot be taken away keeps no sandbox from ending and no other from being started', () => {
    const faults: unknown[] = [];
    const onFault = (error: unknown) => void faults.push(error);
    const claim = claimed(new MountPoints(new MountJournal(journals, onFault)), join(folder, '.codex'));
    const [name] = readdirSync(journals);
    rmSync(join(journals, name!));
    mkdirSync(join(journals, name!)); // which is removed by no unlink, not even that of root
    claim[Symbol.dispose]();
    bury();
    sweepMountPoints(journals, onFault);
    expect(faults).toHaveLength(2);
  });

  it('may be missing or nonsense', () => {
    sweepMountPoints('/dev/null/state/journals');
    sweepMountPoints(journals);
    mkdirSync(journals);
    writeFileSync(join(journals, 'old-boot.1.1.1'), '"/x/.codex"\n{');
    sweepMountPoints(journals);
    expect(readdirSync(journals)).toEqual([]);
  });
});
