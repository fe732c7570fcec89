import { describe, expect, it } from 'vitest';
import { environmentToken } from '../api/identifiers.ts';
import { SigningKeys } from '../trust/signing-keys.ts';
import { EntrySeal } from './sealed-entry.ts';

const secret = 'a'.repeat(32);
const entry = { environmentId: 'env', version: 7, registration: null };
const key = environmentToken('env');

describe('an entry of the shared directory', () => {
  const seal = new EntrySeal(new SigningKeys([secret]));

  it('is accepted from a node with the same secret, under the same key', () => {
    expect(new EntrySeal(new SigningKeys([secret, 'b'.repeat(32)])).open(key, seal.seal(key, entry))).toEqual(entry);
  });

  it('is refused with another secret, under another key, changed, or without a signature', () => {
    const text = seal.seal(key, entry);
    const other = environmentToken('other');

    expect(new EntrySeal(SigningKeys.random()).open(key, text)).toBeUndefined();
    expect(seal.open(other, text)).toBeUndefined();
    expect(seal.open(other, seal.seal(other, entry))).toBeUndefined();
    expect(seal.open(key, text.replace('7', '8'))).toBeUndefined();
    for (const nonsense of ['', '{', 'null', '[]', '{}', '{"entry":1}', JSON.stringify(entry)]) {
      expect(seal.open(key, nonsense)).toBeUndefined();
    }
  });
});
