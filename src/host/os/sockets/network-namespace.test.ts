import { expect, it } from 'vitest';
import { NetworkNamespace } from './network-namespace.ts';

it('knows its own network by another process of it', () => {
  expect(NetworkNamespace.ofProcess(process.pid)).toBeUndefined();
  expect(() => NetworkNamespace.ofProcess(2 ** 22 + 1)).toThrow('ENOENT');
});
