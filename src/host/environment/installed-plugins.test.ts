import { describe, expect, it } from 'vitest';
import { versionInUse } from './installed-plugins.ts';

describe('the version of a plugin that is in use', () => {
  it.each([
    [['1.9.0', '1.10.0'], '1.10.0'],
    [['1.0.0-rc.2', '1.0.0-rc.10'], '1.0.0-rc.10'],
    [['1.0.0', '1.0.0-rc.1'], '1.0.0'],
    [['9.0.0', 'local'], 'local'],
    [['1.10.0', 'abc'], 'abc'],
    [['not usable', '..'], undefined],
    [[], undefined],
  ])('is of %j %s', (names, version) => {
    expect(versionInUse(names)).toBe(version);
  });
});
