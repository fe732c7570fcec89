import { describe, expect, it } from 'vitest';
import { BodyStream } from './body-stream.ts';
import { adapt, deliberateDifferences } from './deliberate-differences.ts';
import { type JsonObject, parseJson } from './json.ts';
import { compare, compareAnswer } from './matcher.ts';
import { Placeholders } from './placeholders.ts';
import { ProcessLife } from './process-life.ts';
import type { ProcessEvent } from './process-log.ts';
import { timingDependent } from './timing-dependent.ts';
import { loadTranscripts } from './transcript.ts';

const transcripts = loadTranscripts();
const unbound = () => new Placeholders();
const error = (code: number, message: string): JsonObject => ({ id: 1, error: { code, message } });
const result = (value: JsonObject): JsonObject => ({ id: 1, result: value });

describe('comparing an answer', () => {
  it('refuses every recorded error under another code, and every recorded answer of the other kind', () => {
    const answers = transcripts.flatMap(({ lines }) =>
      lines.flatMap((line) => (line.dir === 'recv' && line.msg.id !== undefined && !line.msg.method ? [line.msg] : [])),
    );
    const accepted = answers.filter((answer) => {
      const { id = null } = answer;
      const other =
        'error' in answer ? { id, error: { ...(answer.error as JsonObject), code: -1 } } : { id, error: {} };
      return compareAnswer(undefined, answer, other, unbound()) === undefined;
    });
    expect(answers.length).toBeGreaterThan(500);
    expect(accepted).toEqual([]);
  });

  it('leaves the words of a decoder to the server, but not those the protocol spells out', () => {
    const worded = (expected: string, actual: string) =>
      compareAnswer('process/start', error(-32602, expected), error(-32602, actual), unbound()) === undefined;
    expect([
      worded('missing field `argv`', 'argv is required'),
      worded('missing field `argv`', ''),
      worded('argv must not be empty', 'argv must not be empty'),
      worded('argv must not be empty', 'argv is empty'),
      worded('http/request failed: error sending request', 'http/request failed: connection refused'),
      worded('http/request failed: error sending request', 'connection refused'),
    ]).toEqual([true, false, true, false, true, false]);
  });

  it('allows more members in a result, never fewer, and does not take null for absent', () => {
    const fits = (expected: JsonObject, actual: JsonObject) =>
      compareAnswer('process/write', result(expected), result(actual), unbound()) === undefined;
    expect([
      fits({ status: 'accepted' }, { status: 'accepted', queued: 1 }),
      fits({ status: 'accepted', failure: null }, { status: 'accepted' }),
      fits({ status: 'accepted' }, { status: 'stdinClosed' }),
    ]).toEqual([true, false, false]);
  });

  it('allows no more members in the envelope', () => {
    const answer = { jsonrpc: '2.0', ...result({}) };
    expect(compareAnswer('fs/close', result({}), answer, unbound())).toBeDefined();
  });

  it('takes directory entries as a set and the size of a directory as free', () => {
    const entries = (...names: string[]) => result({ entries: names.map((fileName) => ({ fileName, isFile: true })) });
    const metadata = (isDirectory: boolean, size: number) => result({ isDirectory, size });
    expect(compareAnswer('fs/readDirectory', entries('a', 'b'), entries('b', 'a'), unbound())).toBeUndefined();
    expect(compareAnswer('fs/readDirectory', entries('a', 'b'), entries('a'), unbound())).toBeDefined();
    expect(compareAnswer('fs/getMetadata', metadata(true, 4096), metadata(true, 80), unbound())).toBeUndefined();
    expect(compareAnswer('fs/getMetadata', metadata(false, 8), metadata(false, 9), unbound())).toBeDefined();
  });

  it('ignores the headers of the HTTP connection and no others', () => {
    const headers = (...names: string[]) => result({ headers: names.map((name) => ({ name, value: '1' })) });
    expect(compareAnswer('http/request', headers('x-a', 'date'), headers('x-a'), unbound())).toBeUndefined();
    expect(compareAnswer('http/request', headers('x-a', 'x-b'), headers('x-b', 'x-a'), unbound())).toBeDefined();
  });

  it('compares what an implementation decides about its environment by name and type', () => {
    const info = (capabilities: JsonObject, platformOs = 'linux', prependPathDirs: string[] = []) =>
      result({ shell: { name: 'bash' }, executorVersion: '1', prependPathDirs, platformOs, capabilities });
    const differs = (actual: JsonObject) => compareAnswer('environment/info', info({ a: true }), actual, unbound());
    expect(differs(info({ a: false, b: true }))).toBeUndefined();
    expect(differs(info({}))).toBeDefined();
    expect(differs(info({ a: 'yes' }))).toBeDefined();
    expect(differs(info({ a: true }, 'plan9'))).toBeDefined();
    expect(differs(info({ a: true }, 'linux', ['file:///tools']))).toBeUndefined();
    expect(differs(info({ a: true }, 'linux', ['/tools']))).toBeDefined();
  });

  it('gives a placeholder one value throughout, except those that stand for a moment', () => {
    const known = new Placeholders({ work: '/w' });
    expect(known.match('session <sessionId> in <work>', 'session s1 in /w')).toBe(true);
    expect(known.match('<sessionId>', 's2')).toBe(false);
    expect(known.match('file://<work>/a', 'file:///x/a')).toBe(false);
    expect([known.match('<timestamp>', '2026-01-01T00:00:00.000Z'), known.match('<port>', 'x')]).toEqual([true, false]);
    expect(compare('<ms>', 1.5, known, 'time')).toBeDefined();
  });

  it('tells apart integers that a double cannot', () => {
    const [wanted, rounded] = ['{"id":9223372036854775807}', '{"id":9223372036854775808}'].map(parseJson);
    expect(wanted).not.toEqual(rounded);
    expect(parseJson('{"text":"9223372036854775807, \\"x"}')).toEqual({ text: '9223372036854775807, "x' });
  });
});

const out = (seq: number, text: string, stream = 'stdout'): ProcessEvent => ({
  kind: 'output',
  seq,
  stream,
  bytes: Buffer.from(text),
});
const exit = (seq: number, exitCode = 0, sandboxDenied = false): ProcessEvent => ({
  kind: 'exited',
  seq,
  exitCode,
  sandboxDenied,
});
const close = (seq: number): ProcessEvent => ({ kind: 'closed', seq });

const recorded = [out(1, 'one'), out(2, 'two'), exit(3), close(4)];

function lived(actual: ProcessEvent[]): ProcessLife {
  const life = new ProcessLife('p');
  for (const event of recorded) life.expect('A', event);
  for (const event of actual) life.observe('A', event);
  return life;
}

const judge = (life: ProcessLife, inOrder = true, cut: string[] = []) =>
  life.verdict({ inOrder, cut: new Set(cut) }, unbound());

describe('comparing the events of a process', () => {
  it.each([
    ['as recorded', recorded],
    ['in one chunk', [out(1, 'onetwo'), exit(2), close(3)]],
    ['with the exit before the last output', [out(1, 'onet'), exit(2), out(3, 'wo'), close(4)]],
  ])('accepts them %s', (_how, events) => {
    expect(judge(lived(events))).toBeUndefined();
  });

  it.each<[string, ProcessEvent[]]>([
    ['a lost byte', [out(1, 'one'), out(2, 'tw'), exit(3), close(4)]],
    ['a byte too many', [out(1, 'one'), out(2, 'two!'), exit(3), close(4)]],
    ['another stream', [out(1, 'one'), out(2, 'two', 'stderr'), exit(3), close(4)]],
    ['swapped output', [out(1, 'two'), out(2, 'one'), exit(3), close(4)]],
    ['an empty chunk', [out(1, 'one'), out(2, ''), out(3, 'two'), exit(4), close(5)]],
    ['another exit code', [out(1, 'onetwo'), exit(2, 1), close(3)]],
    ['another verdict of the sandbox', [out(1, 'onetwo'), exit(2, 0, true), close(3)]],
    ['no exit', [out(1, 'onetwo'), close(2)]],
    ['no end', [out(1, 'onetwo'), exit(2)]],
    ['output after the end', [out(1, 'one'), exit(2), close(3), out(4, 'two')]],
    ['a missing number', [out(1, 'onetwo'), exit(3), close(4)]],
    ['a number used twice', [out(1, 'one'), out(1, 'two'), exit(2), close(3)]],
    ['an event sent twice', [out(1, 'onetwo'), exit(2), exit(2), close(3)]],
  ])('refuses %s', (_what, events) => {
    expect(judge(lived(events))).toBeDefined();
  });

  it('minds the order of arrival only where it is promised', () => {
    const life = lived([out(1, 'onetwo'), close(3), exit(2)]);
    expect([judge(life, false), judge(life, true)]).toEqual([undefined, expect.stringContaining('out of order')]);
  });

  it('does not know what else was under way on a connection that the client cut', () => {
    const life = new ProcessLife('p');
    life.expect('A', out(1, 'one'));
    for (const event of [out(1, 'one and more'), exit(2), close(3)]) life.observe('A', event);
    expect(judge(life, true, ['A'])).toBeUndefined();
    expect(judge(life)).toBeDefined();
    expect(judge(lived([out(1, 'one'), exit(2), close(3)]), true, ['A'])).toBeDefined();
  });

  it('refuses an end that is not recorded', () => {
    const life = new ProcessLife('p');
    life.expect('A', out(1, 'one'));
    for (const event of [out(1, 'one'), exit(2)]) life.observe('A', event);
    expect(judge(life)).toBeDefined();
  });
});

describe('comparing what process/read returns', () => {
  const chunk = (seq: number, text: string) => ({
    seq,
    stream: 'stdout',
    chunk: Buffer.from(text).toString('base64'),
  });
  const ended = { exited: true, exitCode: 0, closed: true, failure: null, sandboxDenied: false };
  const whole = { chunks: [chunk(1, 'one'), chunk(2, 'two')], nextSeq: 5, ...ended };

  function read(actual: JsonObject, params: JsonObject = {}, expected: JsonObject = whole, events = recorded) {
    const life = lived(events);
    life.addRead({ id: 1, params, expected, actual, sameCursor: true, free: [] });
    return judge(life);
  }

  it('accepts what was recorded, and the same bytes under the numbers that were pushed', () => {
    const merged = [out(1, 'onetwo'), exit(2), close(3)];
    expect(read(whole)).toBeUndefined();
    expect(read({ ...whole, chunks: [chunk(1, 'onetwo')], nextSeq: 4 }, {}, whole, merged)).toBeUndefined();
  });

  it('accepts other numbers for events that were not pushed', () => {
    const life = new ProcessLife('p');
    const expected = { ...whole, chunks: [chunk(1, 'late')], nextSeq: 4 };
    const actual = { ...whole, chunks: [chunk(2, 'late')], nextSeq: 4 };
    life.addRead({ id: 1, params: {}, expected, actual, sameCursor: true, free: [] });
    expect(judge(life, true, ['A'])).toBeUndefined();
  });

  it.each<[string, JsonObject]>([
    ['a chunk less', { ...whole, chunks: [chunk(1, 'one')] }],
    ['other bytes than were pushed', { ...whole, chunks: [chunk(1, 'one'), chunk(2, 'six')] }],
    ['numbers that were not pushed', { ...whole, chunks: [chunk(1, 'one'), chunk(3, 'two')] }],
    ['another next number', { ...whole, nextSeq: 6 }],
    ['an older state', { ...whole, nextSeq: 4, closed: false }],
    ['an end that is not in the numbers', { ...whole, nextSeq: 4 }],
    ['another exit code', { ...whole, exitCode: 1 }],
    ['a failure', { ...whole, failure: 'oops' }],
    ['a member less', { chunks: whole.chunks, nextSeq: 5, exited: true, exitCode: 0, closed: true, failure: null }],
  ])('refuses %s', (_what, actual) => {
    expect(read(actual)).toBeDefined();
  });

  it('counts the bytes asked for: the first chunk always, a further one only if it fits', () => {
    const one = { ...whole, chunks: [chunk(1, 'one')], nextSeq: 2 };
    const both = { ...whole, nextSeq: 3 };
    const fits = (maxBytes: number, actual: JsonObject) => read(actual, { maxBytes }, actual) === undefined;
    expect([fits(0, one), fits(5, one), fits(6, both), fits(9, both)]).toEqual([true, true, true, true]);
    expect([fits(0, both), fits(5, both), fits(6, one), fits(9, whole)]).toEqual([false, false, false, false]);
  });

  it('knows which chunks a server has to keep', () => {
    const half = 'x'.repeat(600_000);
    const life = (kept: JsonObject[]) => {
      const events = [out(1, half), out(2, half), exit(3), close(4)];
      const actual = { ...whole, chunks: kept };
      const process = new ProcessLife('p');
      process.expectUnrecorded(1_200_000);
      for (const event of [exit(3), close(4)]) process.expect('A', event);
      for (const event of events) process.observe('A', event);
      const abbreviated = { ...whole, chunks: [{ seq: 2, stream: 'stdout', chunk: { $long: {} } }] };
      process.addRead({ id: 1, params: {}, expected: abbreviated, actual, sameCursor: true, free: [] });
      return judge(process);
    };
    expect(life([chunk(2, half)])).toBeUndefined();
    expect(life([chunk(1, half), chunk(2, half)])).toBeDefined();
    expect(life([])).toBeDefined();
  });
});

describe('comparing a streamed body', () => {
  const delta = (seq: number, text: string, done = false, problem: string | null = null): JsonObject => ({
    method: 'http/request/bodyDelta',
    params: { requestId: 's', seq, deltaBase64: Buffer.from(text).toString('base64'), done, error: problem },
  });

  function streamed(deltas: JsonObject[], response = 0) {
    const body = new BodyStream('s');
    for (const message of [delta(1, 'one'), delta(2, 'two'), delta(3, '', true)]) body.expect(message);
    body.answered(response);
    for (const [index, message] of deltas.entries()) body.observe(message, index + 1);
    return body.verdict;
  }

  it('accepts the same bytes in other pieces', () => {
    expect(streamed([delta(1, 'onetwo'), delta(2, '', true)])).toBeUndefined();
  });

  it.each<[string, JsonObject[], number]>([
    ['other bytes', [delta(1, 'one'), delta(2, '', true)], 0],
    ['no end', [delta(1, 'onetwo')], 0],
    ['a failure', [delta(1, 'onetwo'), delta(2, '', true, 'reset')], 0],
    ['numbers with a gap', [delta(1, 'onetwo'), delta(3, '', true)], 0],
    ['a delta before the response', [delta(1, 'onetwo'), delta(2, '', true)], 2],
  ])('refuses %s', (_what, deltas, response) => {
    expect(streamed(deltas, response)).toBeDefined();
  });
});

describe('the tables', () => {
  const scenarios = transcripts.map(({ scenario }) => scenario);

  it('name only transcripts that exist', () => {
    const named = Object.keys(timingDependent).map((key) => key.split(' ')[0]);
    expect(named.filter((name) => !scenarios.includes(name ?? ''))).toEqual([]);
  });

  it('declare no difference that changes nothing', () => {
    const idle = deliberateDifferences.filter(({ scenario }) => {
      const transcript = transcripts.find((candidate) => candidate.scenario === scenario);
      return !transcript || JSON.stringify(adapt(transcript)) === JSON.stringify(transcript);
    });
    expect(idle).toEqual([]);
  });
});
