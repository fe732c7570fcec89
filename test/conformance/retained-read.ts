import { isObject, type Json, type JsonObject } from './json.ts';
import { compare, type Difference, first } from './matcher.ts';
import type { Placeholders } from './placeholders.ts';
import { describe, joined, outputOf, type ProcessLog, sizeOf } from './process-log.ts';

const retainedBytes = 1_048_576;

/** One `process/read` that was answered with a result. */
export interface RetainedRead {
  id: Json;
  params: JsonObject;
  expected: JsonObject;
  actual: JsonObject;
  /** The cursor that was sent falls on the same byte as the recorded one. */
  sameCursor: boolean;
  /** Members that depend on the moment of the answer. */
  free: string[];
}

/** What the answer must be by the server's own numbering: the log of the process decides. */
export function checkAgainstLog(read: RetainedRead, log: ProcessLog): Difference {
  const { params, actual } = read;
  const chunks = chunksOf(actual);
  const limit = typeof params.maxBytes === 'number' ? params.maxBytes : undefined;
  const last = chunks.at(-1)?.seq;
  const nextUnused = limit === undefined || last === undefined ? Number(actual.nextSeq) : endOf(actual, log, last);
  const retained = log.outputs.filter(({ seq }) => seq < nextUnused);
  while (sizeOf(retained) > retainedBytes) retained.shift();
  const wanted = within(
    limit,
    retained.filter(({ seq }) => seq > Number(params.afterSeq ?? 0)),
  );
  const list = (events: typeof wanted) => events.map((event) => `${event.seq} ${describe(event)}`).join(', ');
  const seqs = (events: typeof wanted) => events.map(({ seq }) => seq).join();
  if (seqs(chunks) !== seqs(wanted)) {
    return `process/read ${read.id} should hold [${list(wanted)}], got [${list(chunks)}]`;
  }
  const nextSeq = limit === undefined || last === undefined ? nextUnused : last + 1;
  const state = { nextSeq, ...stateAt(nextUnused, log) };
  return first(Object.entries(state), ([name, value]) =>
    actual[name] === value ? undefined : `process/read ${read.id}: ${name} should be ${value}, got ${actual[name]}`,
  );
}

/** What the answer must be by the recording: literally where both servers numbered alike, else by content. */
export function checkAgainstRecording(read: RetainedRead, numberedAlike: boolean, known: Placeholders): Difference {
  const { chunks, nextSeq, ...state } = read.expected;
  const named = Object.entries(numberedAlike ? read.expected : state).filter(([name]) => !read.free.includes(name));
  const difference = compare(Object.fromEntries(named), read.actual, known, `process/read ${read.id}`);
  const wanted = chunksOf(read.expected);
  const whole = Array.isArray(chunks) && wanted.length === chunks.length;
  const comparable = whole && read.sameCursor && (read.params.maxBytes ?? null) === null;
  if (difference !== undefined || numberedAlike || !comparable || read.free.includes('chunks')) return difference;
  return sameBytes(joined(wanted), joined(chunksOf(read.actual)), `process/read ${read.id}`);
}

export function sameBytes(expected: Map<string, Buffer>, actual: Map<string, Buffer>, at: string): Difference {
  const none = Buffer.alloc(0);
  const text = (bytes: Buffer) => JSON.stringify(bytes.toString('latin1').slice(0, 400));
  return first([...new Set([...expected.keys(), ...actual.keys()])], (stream) => {
    const [wanted, got] = [expected.get(stream) ?? none, actual.get(stream) ?? none];
    return wanted.equals(got) ? undefined : `${at}: expected on ${stream} ${text(wanted)}, got ${text(got)}`;
  });
}

/** The chunks of a result; those of a recording that are abbreviated are left out. */
export function chunksOf(result: JsonObject) {
  const chunks = Array.isArray(result.chunks) ? result.chunks.filter(isObject) : [];
  return chunks.filter(({ chunk }) => typeof chunk === 'string').map(outputOf);
}

function endOf(result: JsonObject, log: ProcessLog, last: number): number {
  if (result.closed === true && log.closed) return log.closed.seq + 1;
  return Math.max(last, result.exited === true ? (log.exited?.seq ?? 0) : 0) + 1;
}

function within<Chunk extends { bytes: Buffer }>(limit: number | undefined, chunks: Chunk[]): Chunk[] {
  if (limit === undefined) return chunks;
  let size = 0;
  const count = chunks.findIndex(({ bytes }, index) => {
    const full = index > 0 && (size >= limit || size + bytes.length > limit);
    size += bytes.length;
    return full;
  });
  return count < 0 ? chunks : chunks.slice(0, count);
}

/** What is known of the process when `nextUnused` is its next number; an event that was not seen decides nothing. */
function stateAt(nextUnused: number, { exited, closed }: ProcessLog): JsonObject {
  return {
    ...(exited && { exited: exited.seq < nextUnused, exitCode: exited.seq < nextUnused ? exited.exitCode : null }),
    ...(closed && { closed: closed.seq < nextUnused }),
  };
}
