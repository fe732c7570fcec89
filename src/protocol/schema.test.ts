import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { PathUri } from './path-uri.ts';
import { bytes, decode, encode, optional, pathUri, unsigned } from './schema.ts';

const example = z.object({
  name: z.string(),
  flag: optional(z.boolean()),
  count: optional(unsigned),
  data: optional(bytes),
  at: optional(pathUri),
  list: optional(z.array(z.string())),
  map: optional(z.record(z.string(), z.string())),
  pick: optional(z.enum(['a', 'b'])),
  word: optional(z.string().check(z.minLength(1, 'must not be empty'))),
  three: optional(z.enum(['a', 'b', 'c'])),
  tagged: optional(
    z.discriminatedUnion('type', [z.object({ type: z.literal('x') }), z.object({ type: z.literal('y'), n: unsigned })]),
  ),
});

function refusalOf(value: unknown): unknown {
  try {
    return decode(example, value);
  } catch (error) {
    return (error as { toWire(): unknown }).toWire();
  }
}

describe('decoding parameters', () => {
  it.each([
    [{}, 'missing field `name`'],
    [{ name: 7 }, 'invalid type: number, expected a string'],
    [{ name: null }, 'invalid type: null, expected a string'],
    [{ name: {} }, 'invalid type: map, expected a string'],
    [null, 'invalid type: null, expected a map'],
    [[], 'invalid type: sequence, expected a map'],
    [{ name: '', flag: 'yes' }, 'invalid type: string "yes", expected a boolean'],
    [{ name: '', flag: 'a\0b' }, 'invalid type: string "a\\0b", expected a boolean'],
    [{ name: '', count: -1 }, 'invalid number'],
    [{ name: '', count: 1.5 }, 'invalid number'],
    [{ name: '', count: 2 ** 64 }, 'invalid number'],
    [{ name: '', count: '1' }, 'invalid type: string "1", expected u64'],
    [{ name: '', data: '*AAA' }, 'Invalid symbol 42, offset 0.'],
    [{ name: '', data: 'AAA' }, 'Invalid padding'],
    [{ name: '', data: 7 }, 'invalid type: number, expected a string'],
    [{ name: '', at: 'x' }, 'invalid URI: relative URL without a base'],
    [{ name: '', at: 7 }, 'invalid type: number, expected a string'],
    [{ name: '', list: 'x' }, 'invalid type: string "x", expected a sequence'],
    [{ name: '', list: ['x', 1] }, 'invalid type: number, expected a string'],
    [{ name: '', map: [] }, 'invalid type: sequence, expected a map'],
    [{ name: '', map: { a: true } }, 'invalid type: boolean `true`, expected a string'],
    [{ name: '', pick: 'c' }, 'unknown variant `c`, expected `a` or `b`'],
    [{ name: '', three: 'd' }, 'unknown variant `d`, expected one of `a`, `b`, `c`'],
    [{ name: '', pick: 1 }, 'invalid type: number, expected a string'],
    [{ name: '', tagged: {} }, 'missing field `type`'],
    [{ name: '', tagged: { type: 'z' } }, 'unknown variant `z`, expected `x` or `y`'],
    [{ name: '', tagged: { type: 1 } }, 'invalid type: number, expected a string'],
    [{ name: '', tagged: { type: 'y' } }, 'missing field `n`'],
    [{ flag: 7, name: 7 }, 'invalid type: number, expected a boolean'],
    [{ flag: 'x' }, 'invalid type: string "x", expected a boolean'],
    [{ list: [1], count: -1, name: '' }, 'invalid type: number, expected a string'],
    [{ tagged: { type: 'y' }, count: -1 }, 'missing field `n`'],
    [{ word: '', name: '' }, 'word must not be empty'],
    [{ word: '', count: -1, name: '' }, 'invalid number'],
    [{ word: '' }, 'missing field `name`'],
  ])('refuses %j with the words of the reference', (value, message) => {
    expect(refusalOf(value)).toEqual({ code: -32602, message });
  });

  it('takes null for absent and ignores what it does not know, at every depth', () => {
    expect(decode(example, { name: 'n', flag: null, count: null, extra: 1, tagged: { type: 'x', extra: [] } })).toEqual(
      {
        name: 'n',
        flag: null,
        count: null,
        tagged: { type: 'x' },
      },
    );
  });

  it('takes integers up to 64 bits', () => {
    const largest = JSON.parse('{"name":"","count":18446744073709549568}');

    expect(decode(example, largest).count).toBe(2 ** 64 - 2 ** 11);
    expect(decode(example, { name: '', count: 0 }).count).toBe(0);
  });

  it('does not repeat a long text in the error', () => {
    const refusal = refusalOf({ name: '', flag: 'x'.repeat(100_000) }) as { message: string };

    expect(refusal.message.length).toBeLessThan(300);
  });
});

describe('the wire form', () => {
  it('of bytes is base64, of a path its URI', () => {
    const value = decode(example, { name: 'n', data: '+/8=', at: 'file:///a b' });

    expect(value.data).toEqual(Buffer.of(0xfb, 0xff));
    expect(value.at).toBeInstanceOf(PathUri);
    expect(encode(example, value)).toEqual({ name: 'n', data: '+/8=', at: 'file:///a%20b' });
  });

  it('of bytes that arrive decoded is taken as it is', () => {
    const data = Uint8Array.of(1, 2);

    expect(decode(example, { name: 'n', data }).data).toBe(data);
  });
});

describe('encoding parameters', () => {
  it('names the place of a value that has no form on the wire', () => {
    const either = z.union([z.object({ inner: z.array(example) }), z.object({ a: bytes, b: bytes })]);
    const wrong = { inner: [{ name: 'x', at: '/srv' as unknown as PathUri }] };

    expect(() => encode(either, wrong)).toThrow("inner.0.at: expected a PathUri, such as PathUri.fromNative('/srv')");
  });

  it('names a member once whose reason names it already', () => {
    const bounded = z.object({
      at: optional(pathUri),
      io: z.object({ rows: z.number().check(z.lt(9, 'must be below 9')) }),
    });

    expect(() => encode(bounded, { io: { rows: 9 } })).toThrow(/^io: rows must be below 9$/);
  });
});
