import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LauncherPool } from './launcher-pool.ts';

class Launcher {
  isIdle = true;
  isDisposed = false;
  readonly waiting = this;

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
}

const load = (): Launcher => new Launcher();

describe('a pool of launchers', () => {
  it('gives each launcher once, and only for its kind', () => {
    const pool = new LauncherPool<Launcher>();
    const launcher = load();
    pool.fill('pipe', () => launcher);
    expect([pool.take('pty'), pool.take('pipe'), pool.take('pipe')]).toEqual([undefined, launcher, undefined]);
  });

  it('has at most one of a kind', async () => {
    const pool = new LauncherPool<Launcher>();
    const loaded: Launcher[] = [];
    const loadAndCount = () => loaded[loaded.push(load()) - 1]!;
    pool.fill('pipe', loadAndCount);
    pool.fill('pipe', loadAndCount);
    pool.fillLater('pipe', loadAndCount);
    await nextTurn();
    expect(loaded).toHaveLength(1);
  });

  it('neither gives nor counts one that has ended', () => {
    const pool = new LauncherPool<Launcher>();
    const [first, second] = [load(), load()];
    pool.fill('pipe', () => first);
    first.isIdle = false;
    pool.fill('pipe', () => second);
    expect(pool.take('pipe')).toBe(second);
    pool.fill('pipe', () => first);
    expect(pool.take('pipe')).toBeUndefined();
  });

  it('is not disturbed by one that cannot be loaded later', async () => {
    const pool = new LauncherPool<Launcher>();
    pool.fillLater('pipe', () => {
      throw new Error('EAGAIN');
    });
    await nextTurn();
    expect(pool.take('pipe')).toBeUndefined();
    pool.fillLater('pipe', load);
    await nextTurn();
    expect(pool.take('pipe')).toBeInstanceOf(Launcher);
  });

  it('loads none when it is closed, and gives what it has', async () => {
    const pool = new LauncherPool<Launcher>();
    pool.fill('pipe', load);
    pool.fillLater('pty', load);
    pool.close();
    await nextTurn();
    expect([pool.take('pipe'), pool.take('pty')]).toEqual([expect.any(Launcher), undefined]);
  });

  it('ends the idle ones with itself', async () => {
    const pool = new LauncherPool<Launcher>();
    const [idle, taken] = [load(), load()];
    pool.fill('pipe', () => idle);
    pool.fill('pty', () => taken);
    pool.take('pty');
    await pool[Symbol.asyncDispose]();
    expect([idle.isDisposed, taken.isDisposed, pool.take('pipe')]).toEqual([true, false, undefined]);
  });
});
