import { expect, test } from 'vitest';
import { flagsFor } from './optimizer.ts';

test('V8 gets only flags that its version knows', () => {
  expect(flagsFor('11.3.244.8-node.38')).toEqual([
    '--interrupt-budget=35000',
    '--max-inlined-bytecode-size-cumulative=300',
  ]);
  expect(flagsFor('12.4.254.21-node.33')).toEqual([]);
  expect(flagsFor('13.6.233.17-node.48')).toEqual([]);
});
