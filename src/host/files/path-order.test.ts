import { describe, expect, it } from 'vitest';
import { type Deferred, deferred } from '../../base/index.ts';
import { PathOrder } from './path-order.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs tasks under one order and tells which have started. */
class Tasks {
  readonly #order = new PathOrder();
  readonly #ends = new Map<string, Deferred<void>>();
  readonly started: string[] = [];

  run(name: string, paths: string[], changes: boolean): void {
    const end = deferred();
    this.#ends.set(name, end);
    void this.#order.run(paths, changes, () => {
      this.started.push(name);
      return end.promise;
    });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)!.resolve();
    await turn();
  }
}

describe('the order of requests', () => {
  it('is kept between a change and what touches the same place later', async () => {
    const tasks = new Tasks();
    tasks.run('make', ['file:///a'], true);
    tasks.run('write', ['file:///a/b'], true);
    tasks.run('read', ['file:///a/b'], false);
    expect(tasks.started).toEqual(['make']);
    await tasks.end('make');
    expect(tasks.started).toEqual(['make', 'write']);
    await tasks.end('write');
    expect(tasks.started).toEqual(['make', 'write', 'read']);
  });

  it('is kept between reading a place and changing what contains it', async () => {
    const tasks = new Tasks();
    tasks.run('read', ['file:///a/b/c'], false);
    tasks.run('remove', ['file:///a'], true);
    expect(tasks.started).toEqual(['read']);
    await tasks.end('read');
    expect(tasks.started).toEqual(['read', 'remove']);
  });

  it('is of no concern to readers of the same place and to changes of different places', () => {
    const tasks = new Tasks();
    tasks.run('read', ['file:///a'], false);
    tasks.run('read again', ['file:///a'], false);
    tasks.run('change b', ['file:///b'], true);
    tasks.run('change bc', ['file:///bc'], true);
    expect(tasks.started).toEqual(['read', 'read again', 'change b', 'change bc']);
  });

  it('counts both paths of a copy, and everything below the root', () => {
    const tasks = new Tasks();
    tasks.run('copy', ['file:///from', 'file:///to'], true);
    tasks.run('read', ['file:///to/x'], false);
    tasks.run('walk', ['file:///'], false);
    expect(tasks.started).toEqual(['copy']);
  });

  it('goes on after a failure', async () => {
    const order = new PathOrder();
    const failing = order.run(['file:///a'], true, () => Promise.reject(new Error('no')));
    const next = order.run(['file:///a'], true, () => 'done');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('done');
  });

  it('begins a search after earlier changes of what it looks at, and has nothing wait for it', async () => {
    const order = new PathOrder();
    const change = deferred();
    const search = deferred<string>();
    const started: string[] = [];
    void order.run(['file:///a/b'], true, () => change.promise);
    const found = order.after(['file:///a'], () => {
      started.push('search');
      return search.promise;
    });
    await order.after(['file:///c'], async () => started.push('search elsewhere'));
    expect(started).toEqual(['search elsewhere']);
    change.resolve();
    await turn();
    await order.run(['file:///a/b'], true, async () => started.push('change'));
    expect(started).toEqual(['search elsewhere', 'search', 'change']);
    search.resolve('found');
    expect(await found).toBe('found');
  });

  it('answers at once what is done at once', () => {
    expect(new PathOrder().run(['file:///a'], false, () => 7)).toBe(7);
  });
});
