import { describe, expect, it } from 'vitest';
import { below, nameOf, parentOf } from './uri-path.ts';

describe('paths as URIs', () => {
  it('have a parent, except for the root', () => {
    expect(parentOf('file:///a/b%20c')).toBe('file:///a');
    expect(parentOf('file:///a')).toBe('file:///');
    expect(parentOf('file:///')).toBeUndefined();
  });

  it('name their last segment as text', () => {
    expect(nameOf('file:///a/b%20c')).toBe('b c');
    expect(nameOf('file:///a/raw%FF')).toBe('raw%FF');
  });

  it('can be extended by any name', () => {
    expect(below('file:///a', 'b/50% off?#.md').href).toBe('file:///a/b/50%25%20off%3F%23.md');
    expect(below('file:///', 'etc').href).toBe('file:///etc');
  });
});
