import { describe, expect, it } from 'vitest';
import { Scope } from './scope.ts';

describe('a scope', () => {
  it('releases what it owns newest first, each before the next', async () => {
    const released: string[] = [];
    const resource = (name: string): AsyncDisposable => ({
      async [Symbol.asyncDispose]() {
        await Promise.resolve();
        released.push(name);
      },
    });
    {
      await using scope = new Scope();
      scope.own(resource('first'));
      scope.defer(() => void released.push('second'));
      scope.own({ [Symbol.dispose]: () => void released.push('third') });
    }

    expect(released).toEqual(['third', 'second', 'first']);
  });

  it('releases everything although one release fails, and reports the first failure', async () => {
    const released: string[] = [];
    const scope = new Scope();
    scope.defer(() => void released.push('first'));
    scope.defer(() => Promise.reject(new Error('late')));
    scope.defer(() => {
      throw new Error('early');
    });

    await expect(scope[Symbol.asyncDispose]()).rejects.toThrow('early');
    expect(released).toEqual(['first']);
  });

  it('releases nothing twice', async () => {
    const scope = new Scope();
    let releases = 0;
    scope.defer(() => void releases++);

    await scope[Symbol.asyncDispose]();
    await scope[Symbol.asyncDispose]();

    expect(releases).toBe(1);
  });

  it('releases nothing that was moved to another scope', async () => {
    const scope = new Scope();
    const released: string[] = [];
    scope.defer(() => void released.push('handed on'));
    const next = scope.move();

    await scope[Symbol.asyncDispose]();
    expect(released).toEqual([]);
    await next[Symbol.asyncDispose]();
    expect(released).toEqual(['handed on']);
  });

  it('gives back the resource that it owns', () => {
    const resource = { [Symbol.dispose]() {} };

    expect(new Scope().own(resource)).toBe(resource);
  });
});
