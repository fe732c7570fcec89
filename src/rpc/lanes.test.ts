import { describe, expect, it } from 'vitest';
import { type Deferred, deferred } from '../base/index.ts';
import { type Lane, Lanes } from './lanes.ts';

/** Tasks that record their start and end when the test ends them. */
function tasks(lanes: Lanes) {
  const started: string[] = [];
  const running = new Map<string, Deferred<void>>();
  return {
    started,
    run(lane: Lane, name: string) {
      return lanes.run(lane, () => {
        started.push(name);
        const end = deferred();
        running.set(name, end);
        return end.promise;
      });
    },
    async end(name: string) {
      running.get(name)!.resolve();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('lanes', () => {
  it('of width one run tasks of all lanes strictly one after the other', async () => {
    const { run, end, started } = tasks(new Lanes(1, 100));
    run('ordinary', 'a');
    run('control', 'b');
    run('ordinary', 'c');

    expect(started).toEqual(['a']);
    await end('a');
    expect(started).toEqual(['a', 'b']);
    await end('b');
    expect(started).toEqual(['a', 'b', 'c']);
  });

  it('of width two run two tasks each, and a control request does not wait behind ordinary ones', async () => {
    const { run, end, started } = tasks(new Lanes(2, 100));
    for (const name of ['a', 'b', 'c', 'd']) run('ordinary', name);
    for (const name of ['x', 'y', 'z']) run('control', name);

    expect(started).toEqual(['a', 'b', 'x', 'y']);
    await end('b');
    await end('x');
    expect(started).toEqual(['a', 'b', 'x', 'y', 'c', 'z']);
  });

  it('run a task that returns no promise at once', () => {
    const lanes = new Lanes(1, 100);
    const order: string[] = [];

    const waits = [
      lanes.run('ordinary', () => void order.push('a')),
      lanes.run('ordinary', () => void order.push('b')),
    ];

    expect({ order, waits }).toEqual({ order: ['a', 'b'], waits: [undefined, undefined] });
  });

  it('tell the reader to wait once the limit is reached, until there is room again', async () => {
    const { run, end } = tasks(new Lanes(1, 3));
    const waits = [run('ordinary', 'a'), run('ordinary', 'b'), run('ordinary', 'c')];
    let roomy = false;
    void waits[2]!.then(() => {
      roomy = true;
    });

    expect(waits.map((wait) => wait instanceof Promise)).toEqual([false, false, true]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(roomy).toBe(false);
    await end('a');
    expect(roomy).toBe(true);
  });

  it('work off a long queue of short tasks without running out of stack', async () => {
    const lanes = new Lanes(1, 1_000_000);
    const { run, end } = tasks(lanes);
    let done = 0;
    run('ordinary', 'first');
    for (let task = 0; task < 10_000; task++) lanes.run('ordinary', () => void done++);

    await end('first');

    expect(done).toBe(10_000);
  });

  it('let any number of tasks park, in their turn, without making the reader wait', async () => {
    const { run, end, started } = tasks(new Lanes(2, 4));

    const waits = ['p', 'q', 'r', 's', 't'].map((name) => run('parked', name));
    waits.push(run('ordinary', 'a'), run('ordinary', 'b'), run('ordinary', 'c'));
    run('parked', 'u'); // behind c, which waits

    expect(waits.every((wait) => wait === undefined)).toBe(true);
    expect(started).toEqual(['p', 'q', 'r', 's', 't', 'a', 'b']);
    await end('a');
    expect(started).toEqual(['p', 'q', 'r', 's', 't', 'a', 'b', 'c', 'u']);
  });
});
