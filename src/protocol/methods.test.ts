import { describe, expect, it } from 'vitest';
import { loadTranscripts, type Transcript } from '../../test/conformance/transcript.ts';
import { isMethodName, isNotificationName, methods, notifications } from './methods.ts';
import { decode } from './schema.ts';

const values: Readonly<Record<string, string>> = {
  environmentInfo: '{"shell":{"name":"bash","path":"/bin/bash"}}',
  ms: '1750000000000',
  threadId: '"123e4567-e89b-42d3-a456-426614174000"',
};

/** A recorded message with values in place of its placeholders. */
function filled(message: unknown): Wire {
  const text = JSON.stringify(message)
    .replace(/"<(environmentInfo|ms|threadId)\d*>"/g, (_, name: string) => values[name]!)
    .replace(/<(?:work|parent|grandparent|home|codexHome|codexPath|tmp)>/g, '/some/where')
    .replace(/\{"\$(?:long|base64Zeros)":(?:\{[^}]*\}|\d+)\}/g, '"AAAA"');
  return JSON.parse(text) as Wire;
}

interface Wire {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Exchange {
  readonly name: string;
  readonly request: Wire;
  readonly answer: Wire;
}

function* exchanges({ scenario, lines }: Transcript): Generator<Exchange> {
  const requests = new Map<string, Wire>();
  for (const line of lines) {
    if (line.dir !== 'send' && line.dir !== 'recv') continue;
    const message = filled(line.msg);
    const key = `${line.conn} ${JSON.stringify(message.id)}`;
    if (line.dir === 'send') requests.set(key, message);
    const request = requests.get(key);
    if (line.dir === 'recv' && request && message.id !== undefined && isMethodName(request.method ?? '')) {
      yield { name: `${scenario} ${request.id}`, request, answer: message };
    }
  }
}

const transcripts = loadTranscripts();
const recorded = transcripts.flatMap((transcript) => [...exchanges(transcript)]);

const schemaOf = ({ method }: Wire) => methods[method as keyof typeof methods];

function refusalOf(request: Wire): string | undefined {
  try {
    decode(schemaOf(request).params, request.params ?? null);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Requests that the reference refuses while decoding: the message here, or undefined if they decode here. */
const differently: Readonly<Record<string, string | undefined>> = {
  'capabilities-v2 7': undefined,
  'fs-errors 10': undefined,
  'fs-path-uri 31': undefined,
  'fs-read-stream 26': undefined,
  'fs-watch-missing 16': undefined,
  'process-signal 10': undefined,
  'process-start-errors 17': undefined,
  'process-write-ids 8': undefined,
  'process-write-ids 9': undefined,
  'sandbox-context-errors 3': undefined,
  'sandbox-context-errors 6': undefined,
  'initialize-errors 2': 'invalid type: null, expected a map',
  'process-start-minimal 4': 'threadId must be a UUID',
  'sandbox-context-errors 10': 'invalid type: string "readOnly", expected a map',
};

/** Refusals of the reference that come from a handler, not from decoding. */
const decided =
  /^(?:at least one config|TOML paths|http\/request |invalid network proxy|network policy|callback-enabled|argv must|cwd URI|shell snapshots|'file:\/\/\/C:\/x')/;

describe('the methods', () => {
  it('are those of the reference, and the extensions', () => {
    expect(Object.keys(methods).sort()).toEqual([
      'capabilities/discoverV2',
      'capabilityRoots/discoverV1',
      'environment/info',
      'environment/status',
      'environmentConfig/read',
      'fs/canonicalize',
      'fs/close',
      'fs/copy',
      'fs/createDirectory',
      'fs/getMetadata',
      'fs/open',
      'fs/readBlock',
      'fs/readDirectory',
      'fs/readFile',
      'fs/remove',
      'fs/rename',
      'fs/search',
      'fs/searchCancel',
      'fs/setPermissions',
      'fs/unwatch',
      'fs/walk',
      'fs/watch',
      'fs/watchMissing',
      'fs/writeBlock',
      'fs/writeFile',
      'http/request',
      'initialize',
      'net/ack',
      'net/close',
      'net/end',
      'net/list',
      'net/open',
      'net/ports',
      'net/read',
      'net/write',
      'process/closeStdin',
      'process/list',
      'process/read',
      'process/resize',
      'process/signal',
      'process/snapshot',
      'process/start',
      'process/stat',
      'process/terminate',
      'process/wait',
      'process/write',
    ]);
  });

  it('do not include names that every object has', () => {
    expect(['toString', '__proto__', 'constructor'].filter(isMethodName)).toEqual([]);
  });

  it('name their family in state errors', () => {
    const families = Object.entries(methods).map(([name, { family }]) => [name.split('/')[0], family]);

    expect(Object.fromEntries(families)).toEqual({
      initialize: 'initialize',
      environment: 'environment status',
      environmentConfig: 'environment config',
      process: 'exec',
      fs: 'filesystem',
      http: 'http',
      net: 'net',
      capabilityRoots: 'capability discovery',
      capabilities: 'capability discovery',
    });
    expect(methods['environment/info'].family).toBe('environment info');
  });

  it('name the scope that a token must grant', () => {
    const names = (wanted: string) =>
      Object.entries(methods).flatMap(([name, { scope }]) => (scope === wanted && !name.startsWith('fs/') ? name : []));

    expect(names('any').sort()).toEqual(['environment/info', 'environment/status', 'initialize']);
    expect(names('view').sort()).toEqual([
      'process/list',
      'process/read',
      'process/snapshot',
      'process/stat',
      'process/wait',
    ]);
    expect(names('run').sort()).toEqual([
      'http/request',
      'process/closeStdin',
      'process/resize',
      'process/signal',
      'process/start',
      'process/terminate',
      'process/write',
    ]);
    expect(names('files').sort()).toEqual([
      'capabilities/discoverV2',
      'capabilityRoots/discoverV1',
      'environmentConfig/read',
    ]);
    const ofFiles = Object.entries(methods).filter(([name]) => name.startsWith('fs/'));
    expect(new Set(ofFiles.map(([, { scope }]) => scope))).toEqual(new Set(['files']));
  });
});

describe('recorded messages', () => {
  it('are there', () => {
    expect(recorded.length).toBeGreaterThan(500);
  });

  it('decode as parameters wherever the reference took them', () => {
    const taken = recorded.filter(({ answer, name }) => answer.error?.code !== -32602 && name !== 'fs-errors 14');

    const refused = taken.map(({ name, request }) => [name, refusalOf(request)]).filter(([, refusal]) => refusal);

    expect(refused).toEqual([]);
  });

  it('are refused with the words of the reference where it could not decode them', () => {
    const undecoded = recorded.filter(
      ({ answer }) => answer.error?.code === -32602 && !decided.test(answer.error.message),
    );

    const ours = undecoded.map(({ name, request }) => [name, refusalOf(request)]);

    expect(ours).toEqual(
      undecoded.map(({ name, answer }) => [name, name in differently ? differently[name] : answer.error!.message]),
    );
  });

  it('decode as results', () => {
    const answered = recorded.filter(({ answer }) => answer.result !== undefined);

    for (const { name, request, answer } of answered) {
      expect(() => decode(schemaOf(request).result, answer.result), name).not.toThrow();
    }
  });

  it('decode as notifications', () => {
    const received = transcripts.flatMap(({ lines }) =>
      lines.flatMap((line) => (line.dir === 'recv' ? [filled(line.msg)] : [])),
    );
    const known = received.filter(({ id, method }) => id === undefined && isNotificationName(method ?? ''));

    expect(new Set(known.map(({ method }) => method))).toEqual(
      new Set([
        'process/output',
        'process/exited',
        'process/closed',
        'fs/missingChanged',
        'http/request/bodyDelta',
        'network/policyDecision',
      ]),
    );
    for (const { method, params } of known) {
      expect(() => decode(notifications[method as keyof typeof notifications], params)).not.toThrow();
    }
  });
});

describe('process/start', () => {
  const flat = { processId: 'p', argv: ['true'], cwd: 'file:///', env: {}, tty: false };
  const refused = (params: unknown) => refusalOf({ method: 'process/start', params });

  it('takes io in place of tty', () => {
    const { tty: _, ...rest } = flat;

    expect(refused(rest)).toBe('missing field `tty`');
    expect(refused({ ...rest, io: { type: 'pty', rows: 24, cols: 80 } })).toBeUndefined();
    expect(refused({ ...rest, io: { type: 'pipe', stdin: 'open' } })).toBeUndefined();
    expect(refused({ ...rest, io: null })).toBe('missing field `tty`');
  });

  it('takes a terminal of 1 to 65535 rows and columns', () => {
    const sized = (rows: number, cols: number) => refused({ ...flat, tty: true, io: { type: 'pty', rows, cols } });

    expect([sized(1, 65_535), sized(0, 80), sized(24, 65_536), sized(24, 1.5)]).toEqual([
      undefined,
      'rows must be between 1 and 65535',
      'cols must be between 1 and 65535',
      'cols must be between 1 and 65535',
    ]);
  });

  it('takes a prepared request only in that mode', () => {
    const request = { argv: ['true'], cwd: 'file:///', env: {} };

    expect(refused({ processId: 'p', tty: false, mode: 'prepared', request })).toBeUndefined();
    expect(refused({ processId: 'p', tty: false, mode: 'prepared' })).toBe('missing field `request`');
    expect(refused({ ...flat, mode: 'direct' })).toBeUndefined();
    expect(refused({ ...flat, mode: null })).toBeUndefined();
    expect(refused({ ...flat, mode: 'other' })).toBe('unknown variant `other`, expected `direct` or `prepared`');
  });
});
