import { expect, test } from 'vitest';
import { faultFields } from './index.ts';

test('an error is logged with its stack and the stacks of its causes, the nearest first', () => {
  const disk = new Error('the disk is full');
  const fault = new Error('cannot save', { cause: new Error('cannot write', { cause: disk }) });
  const { error, stack, cause } = faultFields(fault) as Record<string, string>;
  expect(error).toBe('cannot save');
  expect(stack).toMatch(/^Error: cannot save\n.*fault-fields\.test\.ts/);
  expect(cause).toMatch(/^Error: cannot write\n[\s\S]*\ncaused by: Error: the disk is full\n.*fault-fields\.test\.ts/);
});

test('an error without a cause has no such field, and a thrown value that is not an error is logged as text', () => {
  expect(faultFields(new Error('alone'))).not.toHaveProperty('cause');
  expect(faultFields('thrown text')).toEqual({ error: 'thrown text' });
});

test('an error that is its own cause is described, too', () => {
  const fault: Error = new Error('round');
  fault.cause = fault;
  expect((faultFields(fault).cause as string).split('caused by: ')).toHaveLength(8);
});
