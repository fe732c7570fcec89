import { setTimeout as pause } from 'node:timers/promises';
import { Activity } from './activity.ts';
import { followNote } from './driver-notes.ts';
import { Expectations } from './expectations.ts';
import { checkHttp } from './http-exchange.ts';
import { isObject, type Json, type JsonObject, objectAt, parseJson } from './json.ts';
import { compare, compareAnswer, type Difference, first } from './matcher.ts';
import type { Placeholders } from './placeholders.ts';
import type { ServerUnderTest } from './server-under-test.ts';
import type { Line, Transcript } from './transcript.ts';
import { StdioWire, WebSocketWire, type Wire } from './wire.ts';
import type { Workspace } from './workspace.ts';

const barrier = 'end of replay';

export interface Stage {
  server: Pick<ServerUnderTest, 'child' | 'log' | 'ended'>;
  /** The websocket address; nothing on stdio. */
  url: string | undefined;
  workspace: Workspace;
  known: Placeholders;
  /** The shared secret of the signed tokens. */
  secret: string;
  /** Answers come in the order of the requests. */
  sequential: boolean;
  /** Events of a process come in the order of their numbers. */
  inOrder: boolean;
  /** How long to wait for a message that does not come. */
  patienceMs: number;
  /** Members of a `process/read` answer that depend on the moment it is given. */
  freeMembers(id: Json): string[];
}

/** Acts the client's part of a transcript and compares what the server does with what was recorded. */
export class Replay {
  readonly stage: Stage;
  readonly expectations: Expectations;
  readonly cut = new Set<string>();
  readonly #transcript: Transcript;
  readonly #activity: Activity;
  readonly #wires = new Map<string, Wire>();
  readonly #requests = new Map<string, { recorded: JsonObject; sent: JsonObject; sameCursor: boolean }>();
  readonly #claimed = new Map<string, Set<number>>();

  constructor(transcript: Transcript, stage: Stage) {
    this.stage = stage;
    this.#transcript = transcript;
    this.#activity = new Activity(stage.patienceMs);
    // A sandbox makes mount points at paths that the real client watches, so this notification may come at any time.
    const ignored = transcript.fromRealClient ? ['fs/missingChanged'] : [];
    this.expectations = new Expectations(stage.known, new Set(ignored));
  }

  async run(): Promise<void> {
    try {
      for (const [index, line] of this.#transcript.lines.entries()) await this.#step(line, index);
      await this.settled();
      await this.#passBarrier();
      const { inOrder } = this.stage;
      fail(this.#unexpectedAnswer() ?? this.expectations.verdict({ inOrder, cut: this.cut }));
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\n${this.#lastMessages()}`, { cause: error });
    } finally {
      for (const wire of this.#wires.values()) wire.drop();
    }
  }

  /** Resolves once the server has sent all that the recording has up to here. */
  async settled(): Promise<void> {
    await this.#activity.settled(() => this.expectations.outstanding);
  }

  wire(conn: string): Wire {
    const wire = this.#wires.get(conn);
    if (!wire) throw new Error(`connection ${conn} is not open`);
    return wire;
  }

  async #step(line: Line, index: number): Promise<void> {
    if (line.dir === 'recv') {
      if (line.msg.id === undefined) return this.expectations.expect(line.conn, line.msg);
      return await this.#receive(line.conn, line.msg);
    }
    await this.settled();
    switch (line.dir) {
      case 'send':
        return (await this.#open(line.conn)).send(JSON.stringify(this.#prepare(line.conn, line.msg, index)));
      case 'send-raw':
        return await this.#sendRaw(line, index);
      case 'send-fill': {
        const items = Array.from({ length: line.count }, () => line.item).join(line.separator);
        return this.wire(line.conn).send(line.prefix + items + line.suffix);
      }
      case 'closed':
        return await this.#awaitClose(line.conn, line.code);
      case 'sleep':
        return await pause(line.ms);
      case 'touch':
        return await this.stage.workspace.touch(line.path, 'touched');
      case 'http':
        return fail(await checkHttp(line, this.stage.url ?? '', this.stage.secret));
      case 'note':
        return await followNote(line.text, this);
    }
  }

  async #open(conn: string): Promise<Wire> {
    const open = this.#wires.get(conn);
    if (open) return open;
    const { url, server } = this.stage;
    const wire = url ? await WebSocketWire.open(url, this.#activity) : new StdioWire(server.child, this.#activity);
    wire.arrived = (message, index) => {
      if (message.id === undefined) this.expectations.observe(conn, message, index);
    };
    this.#wires.set(conn, wire);
    this.#claimed.set(conn, new Set());
    return wire;
  }

  /** The message as it goes out: placeholders filled, cursors in the server's own numbering. */
  #prepare(conn: string, recorded: JsonObject, index: number): JsonObject {
    const message = this.stage.known.fillJson(recorded) as JsonObject;
    if (message.id === undefined || message.method === undefined) return message;
    const answer = this.#transcript.lines
      .slice(index)
      .find((line) => line.dir === 'recv' && answers(line, conn, message.id));
    if (answer?.dir === 'recv' && 'result' in answer.msg) this.expectations.begin(message);
    const request = { recorded, sent: message, sameCursor: true };
    this.#requests.set(`${conn} ${message.id}`, request);
    const life = message.method === 'process/read' ? this.expectations.lifeOf(message) : undefined;
    if (!life) return message;
    const params = objectAt(message, 'params');
    const cursor = life.translate(params.afterSeq);
    request.sameCursor = cursor.exact;
    if (cursor.seq !== undefined) request.sent = { ...message, params: { ...params, afterSeq: cursor.seq } };
    return request.sent;
  }

  async #sendRaw(line: Extract<Line, { dir: 'send-raw' }>, index: number): Promise<void> {
    const wire = await this.#open(line.conn);
    if ('base64' in line) return wire.send(Buffer.from(line.base64, 'base64'));
    const text = this.stage.known.fill(line.raw);
    for (const message of text.split('\n').map(tryParse)) {
      if (isObject(message)) this.#prepare(line.conn, message, index);
    }
    wire.send(text);
  }

  async #receive(conn: string, expected: JsonObject): Promise<void> {
    const { index, message } = await this.#claim(conn, expected);
    if ('method' in expected) return fail(compareCall(expected, message, this.stage.known));
    const request = this.#requests.get(`${conn} ${expected.id}`);
    const method = request ? String(request.sent.method) : undefined;
    const code = objectAt(message, 'error').code;
    if (code === -32010 && method === 'initialize' && this.cut.size > 0 && 'result' in expected) {
      await pause(100); // the server has not noticed the loss yet; a client tries again
      this.wire(conn).send(JSON.stringify(request?.sent));
      return await this.#receive(conn, expected);
    }
    if (request && 'result' in message) this.expectations.bodyOf(request.sent)?.answered(index);
    const life = request && method === 'process/read' ? this.expectations.lifeOf(request.sent) : undefined;
    if (!life || !request || !isObject(expected.result)) {
      return fail(compareAnswer(method, expected, message, this.stage.known));
    }
    fail(compareAnswer(method, { ...expected, result: {} }, message, this.stage.known));
    const { sent, sameCursor } = request;
    life.addRead({
      id: expected.id ?? null,
      params: objectAt(sent, 'params'),
      expected: expected.result,
      actual: objectAt(message, 'result'),
      sameCursor,
      free: this.stage.freeMembers(expected.id ?? null),
    });
  }

  /** Waits for the message with the id; each is taken once. */
  async #claim(conn: string, expected: JsonObject): Promise<{ index: number; message: JsonObject }> {
    const wire = this.wire(conn);
    const claimed = this.#claimed.get(conn) ?? new Set();
    const find = () =>
      wire.received.findIndex(
        (message, at) => !claimed.has(at) && message.id === expected.id && 'method' in message === 'method' in expected,
      );
    await this.#activity.settled(() =>
      find() >= 0 || wire.closeCode !== undefined ? undefined : `${JSON.stringify(expected)} on ${conn}`,
    );
    const index = find();
    const message = wire.received[index];
    if (!message) throw new Error(`connection ${conn} ended (${wire.closeCode}) before ${JSON.stringify(expected)}`);
    if (this.stage.sequential && [...claimed].some((earlier) => earlier > index)) {
      throw new Error(`the answer to ${expected.id} overtook an earlier one`);
    }
    claimed.add(index);
    return { index, message };
  }

  async #awaitClose(conn: string, code: number | 'any'): Promise<void> {
    const wire = this.wire(conn);
    await this.#activity.settled(() => (wire.closeCode === undefined ? `the end of connection ${conn}` : undefined));
    const fits = code === 'any' || wire.closeCode === code;
    fail(fits ? undefined : `connection ${conn}: expected close code ${code}, got ${wire.closeCode}`);
  }

  /** One more answered request on each open connection: whatever was sent before it has arrived. */
  async #passBarrier(): Promise<void> {
    if (this.#transcript.transport === 'stdio') return;
    for (const [conn, wire] of this.#wires) {
      if (wire.closeCode !== undefined) continue;
      wire.send(JSON.stringify({ id: barrier, method: 'environment/status' }));
      await this.#claim(conn, { id: barrier });
    }
  }

  #unexpectedAnswer(): Difference {
    return first([...this.#wires], ([conn, { received }]) => {
      const claimed = this.#claimed.get(conn);
      const stray = received.find((message, index) => message.id !== undefined && !claimed?.has(index));
      return stray && `no request asked for ${JSON.stringify(stray).slice(0, 400)} on ${conn}`;
    });
  }

  #lastMessages(): string {
    const tail = [...this.#wires].flatMap(([conn, { received }]) =>
      received.slice(-6).map((message) => `  ${conn} < ${JSON.stringify(message).slice(0, 300)}`),
    );
    return ['last messages from the server:', ...tail, this.stage.server.log.slice(-2000)].join('\n');
  }
}

export function fail(difference: Difference): void {
  if (difference !== undefined) throw new Error(difference);
}

function answers(line: Line, conn: string, id: Json | undefined): boolean {
  return line.dir === 'recv' && line.conn === conn && line.msg.id === id && !('method' in line.msg);
}

function compareCall(expected: JsonObject, actual: JsonObject, known: Placeholders): Difference {
  return compare(expected, actual, known, 'request of the server');
}

function tryParse(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null; // malformed on purpose
  }
}
