import { describe, expect, it } from 'vitest';
import type { JsonObject } from './json.ts';
import { replayAgainst } from './playback.ts';
import { type Line, loadTranscripts, type Transcript } from './transcript.ts';

const transcripts = loadTranscripts();

const named = (scenario: string): Transcript => {
  const found = transcripts.find((transcript) => transcript.scenario === scenario);
  if (!found) throw new Error(`no transcript ${scenario}`);
  return found;
};

const pipe = named('process-pipe');
const impatient = { patienceMs: 300 };

/** The transcript with its line `at` replaced. */
const altered = (transcript: Transcript, at: number, lines: Line[]): Transcript => ({
  ...transcript,
  lines: transcript.lines.toSpliced(at, 1, ...lines),
});

const recv = (msg: JsonObject): Line => ({ dir: 'recv', conn: 'A', msg });
const received = pipe.lines.flatMap((line, at) => (line.dir === 'recv' ? [{ at, line, msg: line.msg }] : []));
const place = (method: string) => received.find(({ msg }) => msg.method === method)?.at ?? -1;

describe('replaying a transcript', () => {
  it.each(['process-pipe', 'process-duplicate-id', 'process-tty', 'initialize-errors', 'handshake'])(
    'succeeds against a server that says what was recorded in %s',
    async (scenario) => {
      await replayAgainst(named(scenario), named(scenario));
    },
  );

  it.each(received.map(({ at, msg }) => [String(msg.method ?? `the answer to ${msg.id}`), at]))(
    'fails when the server leaves out %s (line %i)',
    async (_what, at) => {
      await expect(replayAgainst(altered(pipe, Number(at), []), pipe, impatient)).rejects.toThrow();
    },
  );

  it.each(received.map(({ at, msg }) => [String(msg.method ?? `the answer to ${msg.id}`), at]))(
    'fails when the server says %s twice (line %i)',
    async (_what, at) => {
      const line = pipe.lines[Number(at)] as Line;
      await expect(replayAgainst(altered(pipe, Number(at), [line, line]), pipe, impatient)).rejects.toThrow();
    },
  );

  it('accepts output that is cut differently and numbered accordingly', async () => {
    const event = (method: string, params: JsonObject) => recv({ method, params: { processId: 'p', ...params } });
    const chunk = (seq: number, stream: string, text: string) => ({
      seq,
      stream,
      chunk: Buffer.from(text).toString('base64'),
    });
    const chunks = [chunk(1, 'stdout', 'o'), chunk(2, 'stderr', 'err\n'), chunk(4, 'stdout', 'ut\n')];
    const events = [
      ...chunks.map((params) => event('process/output', params)),
      event('process/exited', { seq: 3, exitCode: 3, sandboxDenied: false }),
      event('process/closed', { seq: 5 }),
    ];
    const read = received.at(-1);
    const result = { ...(read?.msg.result as JsonObject), chunks, nextSeq: 6 };
    const [from, to] = [place('process/output'), place('process/closed')];
    const lines = pipe.lines.toSpliced(read?.at ?? -1, 1, recv({ id: read?.msg.id ?? null, result }));
    const played = { ...pipe, lines: lines.toSpliced(from, to - from + 1, ...events) };

    await expect(replayAgainst(played, pipe)).rejects.toThrow('out of order');
    const inOrder = { ...played, lines: played.lines.toSpliced(from, events.length, ...events.sort(bySeq)) };
    await replayAgainst(inOrder, pipe);
  });

  it('fails when an answer that must wait its turn overtakes another', async () => {
    const inline = named('inline-dispatch');
    const at = inline.lines.findIndex((line) => line.dir === 'recv' && line.msg.id === 'poll');
    const [poll, status] = inline.lines.slice(at, at + 2) as [Line, Line];
    const overtaken = { ...inline, lines: inline.lines.toSpliced(at, 2, status, poll) };
    await replayAgainst(overtaken, inline, { sequential: false });
    await expect(replayAgainst(overtaken, inline)).rejects.toThrow('overtook');
  });

  it('fails when the server answers a request that was not made', async () => {
    const last = pipe.lines.length - 1;
    const extra = altered(pipe, last, [pipe.lines[last] as Line, recv({ id: 99, result: {} })]);
    await expect(replayAgainst(extra, pipe)).rejects.toThrow('no request asked for');
  });

  it('fails when the server adds something after all that was recorded', async () => {
    const again: Line = { dir: 'send', conn: 'A', msg: {} };
    const late = [again, recv({ id: 99, result: {} }), recv({ id: 'end of replay', result: {} })];
    const talkative = { ...pipe, lines: [...pipe.lines, ...late] };
    await expect(replayAgainst(talkative, pipe)).rejects.toThrow('no request asked for');
  });

  it('fails when the server announces a process that was never started', async () => {
    const closed = recv({ method: 'process/closed', params: { processId: 'other', seq: 1 } });
    const at = place('process/closed');
    await expect(replayAgainst(altered(pipe, at, [pipe.lines[at] as Line, closed]), pipe)).rejects.toThrow();
  });

  it('fails on a note that the driver does not know', async () => {
    const noted = { ...pipe, lines: [{ dir: 'note', conn: 'A', text: 'something happened' } as const] };
    await expect(replayAgainst(pipe, noted)).rejects.toThrow('something happened');
  });
});

function bySeq(a: Line, b: Line): number {
  const seq = (line: Line) => (line.dir === 'recv' ? Number((line.msg.params as JsonObject).seq) : 0);
  return seq(a) - seq(b);
}
