import { describe, expect, it } from 'vitest';
import { pathUri } from './native-path.ts';

describe('a path', () => {
  it.each([
    ['/home/u/p', 'file:///home/u/p'],
    ['C:\\Users\\u', 'file:///C:/Users/u'],
    ['d:/x', 'file:///D:/x'],
  ])('%s is known everywhere as %s', (path, uri) => {
    expect(pathUri(path).href).toBe(uri);
  });
});
