import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedMessage, type Message, parseMessage } from './envelope.ts';

const parse = (text: string): Message => parseMessage(Buffer.from(text));

function reasonOf(text: string | Uint8Array): string {
  try {
    parseMessage(typeof text === 'string' ? Buffer.from(text) : text);
  } catch (error) {
    if (error instanceof MalformedMessage) return error.message;
    throw error;
  }
  return 'none';
}

describe('a message', () => {
  it.each([
    ['{"id":1,"method":"m","params":{"a":1}}', { type: 'request', id: '1', method: 'm', params: { a: 1 } }],
    ['{"id":1,"method":"m"}', { type: 'request', id: '1', method: 'm', params: undefined }],
    ['{"id":"","method":"m","params":null}', { type: 'request', id: '""', method: 'm', params: null }],
    ['{"id":1,"method":"m","params":[1]}', { type: 'request', id: '1', method: 'm', params: [1] }],
    ['{"method":"m","params":[]}', { type: 'notification', method: 'm', params: [] }],
    ['{"method":"m","result":1}', { type: 'notification', method: 'm', params: undefined }],
    ['{"id":1,"method":"m","result":1}', { type: 'request', id: '1', method: 'm', params: undefined }],
    ['{"id":"a","result":null}', { type: 'result', id: '"a"', result: null }],
    ['{"id":1,"result":1,"error":{}}', { type: 'result', id: '1', result: 1 }],
    [
      '{"error":{"code":-32600,"message":"no","data":1},"id":-1}',
      { type: 'error', id: '-1', error: { code: -32600, message: 'no' } },
    ],
    ['{"jsonrpc":7,"bogus":[1],"id":1,"method":"m"}', { type: 'request', id: '1', method: 'm', params: undefined }],
    [' \r\n{"id":1,"method":"m"}\r\n', { type: 'request', id: '1', method: 'm', params: undefined }],
  ])('%s is recognised by its members', (text, message) => {
    expect(parse(text)).toEqual(message);
  });

  it.each([
    ['', ''],
    ['   ', ''],
    ['{oops', ''],
    ['{"id":6,"method":"m"} trailing', ''],
    ['null', 'expected a JSON-RPC object'],
    ['42', 'expected a JSON-RPC object'],
    ['"text"', 'expected a JSON-RPC object'],
    ['[]', 'expected a JSON-RPC object'],
    ['[{"id":1,"method":"m"}]', 'expected a JSON-RPC object'],
    ['{}', 'missing field `error`'],
    ['{"id":5}', 'missing field `error`'],
    ['{"id":6,"error":{"code":1}}', 'missing field `message`'],
    ['{"id":6,"error":{"message":""}}', 'missing field `code`'],
    ['{"id":6,"method":7}', 'invalid type: number, expected a string'],
    ['{"id":6,"method":null}', ''],
    ['{"id":6,"id":6,"method":"m"}', 'duplicate JSON object key `id`'],
    ['{"id":6,"method":"m","params":{"a":1,"a":2}}', 'duplicate JSON object key `a`'],
    ['{"id":6,"method":"m","params":[{"x":{"a":1,"\\u0061":2}}]}', 'duplicate JSON object key `a`'],
    ['{"id":6,"method":"m","params":{"__proto__":1,"__proto__":2}}', 'duplicate JSON object key `__proto__`'],
    ['{"id":6,"method":"m","trace":"nope"}', ''],
    ['{"id":6,"method":"m","trace":[]}', ''],
    ['{"id":6,"method":"m","trace":{"traceparent":1}}', ''],
  ])('%s is malformed', (text, reason) => {
    expect(reasonOf(text)).toContain(reason);
    expect(reasonOf(text)).not.toBe('none');
  });

  it('may carry a trace', () => {
    const traces = ['null', '{}', '{"traceparent":"00-0a-0b-01","tracestate":null}'];

    expect(traces.map((trace) => reasonOf(`{"id":1,"method":"m","trace":${trace}}`))).toEqual(['none', 'none', 'none']);
  });

  it('may repeat a key in different objects', () => {
    expect(reasonOf('{"id":1,"method":"m","params":{"id":{"id":[{"id":1},{"id":":"}]},"a\\"id":1}}')).toBe('none');
  });

  it('is malformed when it is not UTF-8', () => {
    expect(reasonOf(Uint8Array.of(0xff, 0xfe, 0x7b))).toBe('the message is not UTF-8');
    expect(reasonOf(Buffer.from('{"id":1,"method":"\xff"}', 'latin1'))).toBe('the message is not UTF-8');
  });

  it('has at most 262144 values, itself, its members and their items counted', () => {
    const filled = (items: number) => `{"id":6,"method":"m","params":[${Array(items).fill('0').join(',')}]}`;

    expect(reasonOf(filled(262_140))).toBe('none');
    expect(reasonOf(filled(262_141))).toBe(
      'JSON-RPC message exceeds the limit of 262144 JSON values at line 1 column 524311',
    );
  });

  it('may be nested deeply', () => {
    expect(reasonOf(`{"id":6,"method":"m","params":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toBe('none');
  });
});

describe('an id', () => {
  it.each([
    ['0', '0'],
    ['-7', '-7'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['"init-1"', '"init-1"'],
    ['"\\u00fc\\n"', '"ü\\n"'],
  ])('%s is kept as %s', (written, kept) => {
    expect(parse(`{"id":${written},"method":"m"}`)).toMatchObject({ id: kept });
    expect(parse(`{"params":{"id":1,"x":1.5},"method":"m","id":${written}}`)).toMatchObject({ id: kept });
  });

  it.each([
    'null',
    'true',
    '{}',
    '[]',
    '1.5',
    '1.0',
    '1e3',
    '1E0',
    '9223372036854775808',
    '-9223372036854775809',
    '9'.repeat(400),
  ])('%s is malformed', (written) => {
    const reason = 'data did not match any variant of untagged enum RequestId';

    expect(reasonOf(`{"id":${written},"method":"m"}`)).toBe(reason);
    expect(reasonOf(`{"id":${written},"result":1}`)).toBe(reason);
  });
});

describe('a number in parameters', () => {
  it('with a point or an exponent is not an integer, even if its value is whole', () => {
    const { params } = parse('{"id":1,"method":"m","params":{"a":1.0,"b":[1e3,-2E-1,7],"c":"1.0","d":"e\\"1.0"}}') as {
      params: { a: number; b: number[]; c: string; d: string };
    };

    expect([params.a, ...params.b].map(Number.isInteger)).toEqual([false, false, false, true]);
    expect([params.c, params.d]).toEqual(['1.0', 'e"1.0']);
  });
});

/** The parameters as a plain parser reads them, with every float replaced by 0.5. */
function plainly(text: string): string {
  const { params } = JSON.parse(text, (_, value) =>
    typeof value === 'number' && /[.eE]/.test(JSON.stringify(value)) ? 0.5 : value,
  ) as { params: unknown };
  return JSON.stringify(params);
}

/** The parameters with decoded payloads back in base64. */
function restored(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(restored);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restored(item)]));
}

const payloadKey = fc.constantFrom('chunk', 'dataBase64', 'deltaBase64', 'bodyBase64');

describe('a large message', () => {
  const payload = Buffer.alloc(9000, 'payload').toString('base64');

  it.each(['chunk', 'dataBase64', 'deltaBase64', 'bodyBase64'])('has its %s decoded', (key) => {
    const message = parse(`{"id":1,"method":"m","params":{"processId":"p","${key}":"${payload}","writeId":"1"}}`);

    expect(message).toEqual({
      type: 'request',
      id: '1',
      method: 'm',
      params: { processId: 'p', [key]: Buffer.alloc(9000, 'payload'), writeId: '1' },
    });
  });

  it('has the payload of a result and of a notification decoded', () => {
    expect(parse(`{"id":1,"result":{"chunk":"${payload}"}}`)).toMatchObject({
      result: { chunk: Buffer.alloc(9000, 'payload') },
    });
    expect(parse(`{"method":"m","params":{"chunk":"${payload}"}}`)).toMatchObject({
      params: { chunk: Buffer.alloc(9000, 'payload') },
    });
  });

  it('keeps its payload next to a fraction', () => {
    const { params } = parse(`{"id":1,"method":"m","params":{"chunk":"${payload}","x":1.5}}`) as { params: unknown };

    expect(restored(params)).toEqual({ chunk: payload, x: 0.5 });
  });

  it('may hold text with quotes where another message has its payload', () => {
    const text = JSON.stringify({ id: 1, method: 'm', params: { env: { chunk: 'a "b" c' }, fill: payload } });

    expect(JSON.stringify((parse(text) as { params: unknown }).params)).toBe(plainly(text));
  });

  it('with a payload that is not base64 keeps its text', () => {
    const texts = [`${payload}*`, `${payload.slice(1)}`, `${payload}\\u0041AAA`, `${payload}\\"`, `-_-_${payload}`];

    for (const text of texts) {
      const { params } = parse(`{"id":1,"method":"m","params":{"chunk":"${text}"}}`) as { params: unknown };
      expect(params).toEqual({ chunk: JSON.parse(`"${text}"`) });
    }
  });

  it.each([
    ['a repeated payload', `{"id":1,"method":"m","params":{"chunk":"${payload}","chunk":"${payload}"}}`],
    ['a line end in its payload', `{"id":1,"method":"m","params":{"chunk":"${payload}\n"}}`],
    ['an open end', `{"id":1,"method":"m","params":{"chunk":"${payload}`],
    ['a repeated key after the payload', `{"id":1,"method":"m","params":{"chunk":"${payload}","a":1,"a":1}}`],
  ])('with %s is malformed', (_, text) => {
    expect(reasonOf(text)).not.toBe('none');
  });

  it('has the same parameters as when it is parsed whole', () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    const hostile = fc.constantFrom('a"chunk', '\\chunk', 'chunk":"', '"chunk":"', 'chunk\\', 'params', 'result', 'x');
    const texts = fc.oneof(
      fc.base64String(),
      fc.string(),
      fc.constantFrom('"', '\\', '\\"', 'a"b', '","chunk":"AAAA', '\\u0022', '=', 'AA==', '\u2028\ud83d\ude00'),
      fc.base64String({ minLength: 4000, maxLength: 6000 }),
    );
    const member = fc.tuple(
      fc.oneof(payloadKey, hostile, fc.string()),
      fc.oneof(texts, json, fc.object({ maxDepth: 1 })),
    );
    const params = fc.array(member, { maxLength: 5 }).map((members) => Object.fromEntries(members));
    const nested = fc.tuple(hostile, params, params).map(([key, inner, outer]) => ({ [key]: inner, ...outer }));
    const fill = fc.constantFrom({ at: 'start' }, { at: 'end' });
    fc.assert(
      fc.property(fc.oneof(params, nested), fill, fc.boolean(), (body, { at }, escaped) => {
        const filler = { fill: 'f'.repeat(4100) };
        const whole = { id: 1, method: 'm', params: at === 'start' ? { ...filler, ...body } : { ...body, ...filler } };
        const plain = JSON.stringify(whole);
        const text = escaped ? plain.replace(/\//g, '\\/').replace(/k":/g, '\\u006b":') : plain;

        const message = parse(text) as { params: unknown };

        expect(JSON.stringify(restored(message.params))).toBe(plainly(text));
      }),
      { numRuns: 500 },
    );
  });

  it('of many megabytes of text is parsed with floats, a large id or a repeated key in it', () => {
    const long = 'text '.repeat(2_400_000);

    expect(parse(`{"id":9007199254740993,"method":"m","params":{"x":1.5,"long":"${long}"}}`)).toMatchObject({
      id: '9007199254740993',
      params: { x: 0.5 },
    });
    expect(reasonOf(`{"id":1,"id":1,"method":"m","params":{"long":"${long}"}}`)).toBe('duplicate JSON object key `id`');
  });
});

it('arbitrary text is a message or malformed, and never an internal error', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    '1',
    '-',
    '.',
    'e',
    '"id"',
    '"method"',
    '"m"',
    ' ',
    'null',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join('')),
        fc.string(),
      ),
      (text) => {
        expect(typeof reasonOf(text)).toBe('string');
        expect(typeof reasonOf(`{"id":1,"method":"m","params":${text}}`)).toBe('string');
      },
    ),
    { numRuns: 1000 },
  );
});
