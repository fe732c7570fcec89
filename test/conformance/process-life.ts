import type { Json, JsonObject } from './json.ts';
import { type Difference, first } from './matcher.ts';
import type { Placeholders } from './placeholders.ts';
import { type ProcessEvent, ProcessLog, sizeOf } from './process-log.ts';
import { checkAgainstLog, checkAgainstRecording, chunksOf, type RetainedRead, sameBytes } from './retained-read.ts';

interface Pushed {
  recorded: ProcessLog;
  actual: ProcessLog;
  arrival: number[];
}

export interface LifeRules {
  /** Notifications must arrive in the order of their numbers. */
  inOrder: boolean;
  /** Connections that the client cut: what was still under way on them is not known. */
  cut: ReadonlySet<string>;
}

/** One process from its start on: what was recorded of it and what the server under test says about it. */
export class ProcessLife {
  readonly #processId: string;
  readonly #recorded = new ProcessLog();
  readonly #actual = new ProcessLog();
  readonly #pushed = new Map<string, Pushed>();
  readonly #reads: RetainedRead[] = [];
  readonly #problems: Difference[] = [];
  #unrecordedBytes: number | undefined;

  constructor(processId: string) {
    this.#processId = processId;
  }

  /** The recording has this notification on the connection. */
  expect(conn: string, event: ProcessEvent): void {
    this.#recorded.add(event);
    this.#on(conn).recorded.add(event);
  }

  /** The server pushed this notification. */
  observe(conn: string, event: ProcessEvent): void {
    const pushed = this.#on(conn);
    if (pushed.arrival.includes(event.seq)) this.#problems.push(`seq ${event.seq} was pushed twice`);
    if (event.kind === 'output' && event.bytes.length === 0) this.#problems.push(`seq ${event.seq} is an empty chunk`);
    pushed.arrival.push(event.seq);
    this.#problems.push(pushed.actual.add(event), this.#actual.add(event));
  }

  /** The output itself is not in the recording, only how much it was. */
  expectUnrecorded(bytes: number): void {
    this.#unrecordedBytes = bytes;
  }

  /** The read was answered, as recorded and by the server under test. */
  addRead(read: RetainedRead): void {
    this.#reads.push(read);
    for (const chunk of chunksOf(read.expected)) this.#recorded.add(chunk);
    for (const chunk of chunksOf(read.actual)) this.#problems.push(this.#actual.add(chunk));
  }

  /** A recorded cursor in the numbering of the server under test. */
  translate(afterSeq: Json | undefined): { seq: Json | undefined; exact: boolean } {
    if (typeof afterSeq !== 'number') return { seq: afterSeq, exact: true };
    return this.#actual.translate(afterSeq, this.#recorded);
  }

  /** What the recording has by now and the server has not sent yet. */
  get outstanding(): Difference {
    return first([...this.#pushed], ([conn, { recorded, actual }]) => {
      const missing = (['exited', 'closed'] as const).find((kind) => recorded[kind] && !actual[kind]);
      if (missing) return `process/${missing} of ${this.#processId} on ${conn}`;
      const enough = sizeOf(actual.outputs) >= (this.#unrecordedBytes ?? sizeOf(recorded.outputs));
      return enough ? undefined : `more process/output of ${this.#processId} on ${conn}`;
    });
  }

  /** The first thing that differs from the recording or contradicts the server's own numbering. */
  verdict(rules: LifeRules, known: Placeholders): Difference {
    const difference =
      this.#problems.find((problem) => problem !== undefined) ??
      this.#checkNumbers(rules) ??
      first([...this.#pushed], ([conn, pushed]) => this.#checkPushed(pushed, rules.cut.has(conn))) ??
      this.#checkReads(known);
    return difference && `process ${JSON.stringify(this.#processId)}: ${difference}`;
  }

  #checkNumbers({ inOrder, cut }: LifeRules): Difference {
    const { events, closed } = this.#actual;
    const top = events.at(-1);
    if (closed && top !== closed) return `closed has seq ${closed.seq}, but ${top?.kind} has ${top?.seq}`;
    const lost = events.findIndex(({ seq }, index) => seq !== index + 1);
    if (cut.size === 0 && lost >= 0) return `seq ${lost + 1} was never sent`;
    return first([...this.#pushed.values()], ({ arrival }) =>
      inOrder && arrival.some((seq, index) => seq < (arrival[index - 1] ?? 0))
        ? `events were pushed out of order: ${arrival.join()}`
        : undefined,
    );
  }

  #checkPushed({ recorded, actual }: Pushed, cut: boolean): Difference {
    const ends = first(['exited', 'closed'] as const, (kind) => {
      const [wanted, got] = [recorded[kind], actual[kind]].map((event) => event && { ...event, seq: 0 });
      if (cut && !wanted) return undefined;
      const [left, right] = [JSON.stringify(wanted), JSON.stringify(got)];
      return left === right ? undefined : `${kind}: expected ${left ?? 'none'}, got ${right ?? 'none'}`;
    });
    if (ends) return ends;
    if (this.#unrecordedBytes !== undefined) {
      const size = sizeOf(actual.outputs);
      return size === this.#unrecordedBytes ? undefined : `${size} bytes were pushed, not ${this.#unrecordedBytes}`;
    }
    const wanted = recorded.streams;
    const got = cut ? cutTo(wanted, actual.streams) : actual.streams;
    return sameBytes(wanted, got, 'output');
  }

  #checkReads(known: Placeholders): Difference {
    const alike = this.#actual.agreesWith(this.#recorded);
    return first(
      this.#reads,
      (read) => checkAgainstLog(read, this.#actual) ?? checkAgainstRecording(read, alike, known),
    );
  }

  #on(conn: string): Pushed {
    const pushed = this.#pushed.get(conn) ?? { recorded: new ProcessLog(), actual: new ProcessLog(), arrival: [] };
    this.#pushed.set(conn, pushed);
    return pushed;
  }
}

function cutTo(wanted: Map<string, Buffer>, streams: Map<string, Buffer>): Map<string, Buffer> {
  return new Map(
    [...wanted].map(([stream, { length }]) => [stream, (streams.get(stream) ?? Buffer.alloc(0)).subarray(0, length)]),
  );
}

/** The processId that a message is about. */
export const processIdOf = (message: JsonObject): string | undefined => {
  const { params } = message as { params?: { processId?: Json } };
  return typeof params?.processId === 'string' ? params.processId : undefined;
};
