import { describe, expect, it } from 'vitest';
import { familyMark, killFamily, PROCESS_MASK, SERVER_MASK, SESSION_MASK } from '../../../src/host/os/index.ts';
import { freshMark, isAlive, outputMatching, start } from './fixture.ts';

// A descendant in a session of its own whose parents are gone: no process group and no parent leads to it.
const runaway = 'setsid sh -c "(sleep 600 & echo \\$!) &"';

const server = Math.floor(Math.random() * 2 ** 22);

describe('a family', () => {
  it('is killed with all its runaways', async () => {
    const mark = freshMark();
    const child = start(['sh', '-c', `${runaway}; sleep 600`], { mark });
    const lost = Number((await outputMatching(child, /(\d+)\n/))[1]);
    expect(await killFamily(mark, PROCESS_MASK)).toBeGreaterThanOrEqual(2);
    expect(await isAlive(lost)).toBe(false);
    expect(await child.exited).toEqual({ signal: 9 });
  });

  it('is killed after its first process has ended', async () => {
    const mark = freshMark();
    const child = start(['sh', '-c', runaway], { mark });
    const lost = Number((await outputMatching(child, /(\d+)\n/))[1]);
    await child.exited;
    expect(await killFamily(mark, PROCESS_MASK)).toBeGreaterThan(0); // a shell on the way out may be counted too
    expect(await isAlive(lost)).toBe(false);
    expect(await killFamily(mark, PROCESS_MASK)).toBe(0);
  });

  it('is killed while it multiplies', async () => {
    const mark = freshMark();
    const child = start(
      [
        'bash',
        '-c',
        'f() { sleep 600 & (f) & }; for i in {1..20}; do (f) & done; echo on; while :; do sleep 600 & wait -n; done',
      ],
      { mark },
    );
    await outputMatching(child, /on/);
    await killFamily(mark, PROCESS_MASK);
    expect(await killFamily(mark, PROCESS_MASK)).toBe(0);
    expect(await child.exited).toEqual({ signal: 9 });
  });

  it('is selected by process, session or server', async () => {
    const children = [
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ].map(([session, process]) => start(['sleep', '600'], { mark: familyMark(server, session!, process!) }));
    const killed = [
      await killFamily(familyMark(server, 1, 1), PROCESS_MASK),
      await killFamily(familyMark(server, 2, 0), SESSION_MASK),
      await killFamily(familyMark(server, 0, 0), SERVER_MASK),
    ];
    expect(killed).toEqual([1, 2, 1]);
    for (const child of children) expect(await child.exited).toEqual({ signal: 9 });
  });

  it('is counted for each of many that are killed at once', async () => {
    const marks = Array.from({ length: 50 }, freshMark);
    const children = marks.map((mark) => start(['sleep', '600'], { mark }));
    const killed = await Promise.all(marks.map((mark) => killFamily(mark, PROCESS_MASK)));
    expect(killed).toEqual(marks.map(() => 1));
    await Promise.all(children.map((child) => child.exited));
  });

  it('of a disposed process is gone, and the process with it', async () => {
    const child = start(['sh', '-c', `${runaway}; trap "" TERM HUP INT; sleep 600`]);
    const lost = Number((await outputMatching(child, /(\d+)\n/))[1]);
    await child[Symbol.asyncDispose]();
    expect(await isAlive(lost)).toBe(false);
    expect(await child.exited).toEqual({ signal: 9 });
    await child[Symbol.asyncDispose]();
  });

  it('leaves strangers alone', async () => {
    const stranger = start(['sleep', '600']);
    expect(await killFamily(freshMark(), PROCESS_MASK)).toBe(0);
    expect(stranger.signal(0)).toBe(true);
    await stranger[Symbol.asyncDispose]();
    expect(stranger.signal(0)).toBe(false);
  });
});
