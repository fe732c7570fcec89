import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HeadTail } from './head-tail.ts';

it('the first and the last half of the limit are kept, and what lay between is counted', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9 })), fc.nat(40), (parts, limit) => {
      const kept = new HeadTail(limit);
      for (const part of parts) kept.add(part);

      const all = parts.flatMap((part) => [...part]);
      const half = Math.ceil(limit / 2);
      const whole = all.length <= limit;
      expect({ bytes: [...kept.bytes], omitted: kept.omittedBytes }).toEqual({
        bytes: whole ? all : [...all.slice(0, half), ...all.slice(all.length - (limit - half))],
        omitted: whole ? 0 : all.length - limit,
      });
    }),
  );
});
