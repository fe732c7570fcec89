import { describe, expect, it } from 'vitest';
import { SigningKeys } from '../trust/signing-keys.ts';
import { BusSeal } from './bus-seal.ts';

const secret = 'a'.repeat(32);
const way = { to: 'rz2.b.h.1', from: 'rz2.a.e.1' };
const node = () => new BusSeal(new SigningKeys([secret]));
const payload = Buffer.from('payload');

describe('a message between nodes', () => {
  it('arrives once, and none that is older after it', () => {
    const [one, two] = [node(), node()];
    const first = one.seal(way, payload);
    const second = one.seal(way, payload);

    expect(two.open(way, 'a', second)).toEqual(payload);
    expect(two.open(way, 'a', second)).toBeUndefined();
    expect(two.open(way, 'a', first)).toBeUndefined();
    expect(two.open(way, 'a', one.seal(way, new Uint8Array()))).toEqual(Buffer.alloc(0));
  });

  it('is refused when it was changed, came another way, or was written without the secret', () => {
    const two = node();
    const message = Buffer.from(node().seal(way, payload));

    for (let at = 0; at < message.length; at++) {
      const changed = Buffer.from(message);
      changed[at]! ^= 1;
      expect(two.open(way, 'a', changed)).toBeUndefined();
    }
    expect(two.open({ ...way, to: 'rz2.b.h.2' }, 'a', message)).toBeUndefined();
    expect(two.open({ ...way, from: 'rz2.a.e.2' }, 'a', message)).toBeUndefined();
    expect(two.open(way, 'a', new BusSeal(SigningKeys.random()).seal(way, payload))).toBeUndefined();
    expect(two.open(way, 'a', message.subarray(0, 27))).toBeUndefined();
    expect(two.open(way, 'a', message)).toEqual(payload);
  });
});
