import { BodyStream } from './body-stream.ts';
import { isObject, type JsonObject } from './json.ts';
import { compare, type Difference, first } from './matcher.ts';
import type { Placeholders } from './placeholders.ts';
import { type LifeRules, ProcessLife, processIdOf } from './process-life.ts';
import { eventOf } from './process-log.ts';

interface Plain {
  method: string;
  recorded: JsonObject[];
  actual: JsonObject[];
}

/** Everything the server says without being asked: what the recording has, what came, and how the two compare. */
export class Expectations {
  readonly #known: Placeholders;
  readonly #ignored: ReadonlySet<string>;
  readonly #lives = new Map<string, ProcessLife>();
  readonly #bodies = new Map<string, BodyStream>();
  readonly #pastLives: ProcessLife[] = [];
  readonly #pastBodies: BodyStream[] = [];
  readonly #plain = new Map<string, Plain>();
  readonly #strays: string[] = [];

  constructor(known: Placeholders, ignoredMethods: ReadonlySet<string>) {
    this.#known = known;
    this.#ignored = ignoredMethods;
  }

  /** A request is about to be sent that will succeed; ids that were used before begin anew. */
  begin({ method, params }: JsonObject): void {
    const { processId, requestId, streamResponse } = isObject(params) ? params : {};
    if (method === 'process/start') {
      const life = new ProcessLife(String(processId));
      this.#lives.set(String(processId), life);
      this.#pastLives.push(life);
    }
    if (method === 'http/request' && streamResponse === true) {
      const body = new BodyStream(String(requestId));
      this.#bodies.set(String(requestId), body);
      this.#pastBodies.push(body);
    }
  }

  lifeOf(request: JsonObject): ProcessLife | undefined {
    const processId = processIdOf(request);
    return processId === undefined ? undefined : this.#lives.get(processId);
  }

  bodyOf({ params }: JsonObject): BodyStream | undefined {
    return isObject(params) && params.streamResponse === true ? this.#bodies.get(String(params.requestId)) : undefined;
  }

  /** The recording has this notification. */
  expect(conn: string, recorded: JsonObject): void {
    const message = this.#known.fillJson(recorded) as JsonObject;
    const event = eventOf(message);
    if (event) this.#life(message).expect(conn, event);
    else if (message.method === 'http/request/bodyDelta') this.#body(message).expect(message);
    else this.#plainOn(conn, message).recorded.push(recorded);
  }

  /** The server sent this notification as message number `index` of the connection. */
  observe(conn: string, message: JsonObject, index: number): void {
    if (Object.keys(message).sort().join() !== 'method,params') this.#strays.push(JSON.stringify(message));
    const event = eventOf(message);
    const life = this.lifeOf(message);
    const body = this.#bodies.get(requestIdOf(message));
    if (event && life) life.observe(conn, event);
    else if (message.method === 'http/request/bodyDelta' && body) body.observe(message, index);
    else this.#plainOn(conn, message).actual.push(message);
  }

  /** What the recording has by now and the server has not sent yet. */
  get outstanding(): Difference {
    return (
      first([...this.#lives.values()], (life) => life.outstanding) ??
      first([...this.#bodies.values()], (body) => body.outstanding) ??
      first([...this.#plain.values()], ({ method, recorded, actual }) =>
        actual.length < recorded.length && !this.#ignored.has(method) ? method : undefined,
      )
    );
  }

  verdict(rules: LifeRules): Difference {
    const stray = this.#strays[0];
    if (stray !== undefined) return `unexpected ${stray}`;
    return (
      first(this.#pastLives, (life) => life.verdict(rules, this.#known)) ??
      first(this.#pastBodies, (body) => body.verdict) ??
      first([...this.#plain.values()], (plain) => this.#checkPlain(plain))
    );
  }

  #checkPlain({ method, recorded, actual }: Plain): Difference {
    return this.#ignored.has(method) ? undefined : compare(recorded, actual, this.#known, method);
  }

  #plainOn(conn: string, { method }: JsonObject): Plain {
    const key = `${conn} ${method}`;
    const plain = this.#plain.get(key) ?? { method: String(method), recorded: [], actual: [] };
    this.#plain.set(key, plain);
    return plain;
  }

  #life(message: JsonObject): ProcessLife {
    const life = this.lifeOf(message);
    if (!life) throw new Error(`no process was started for ${JSON.stringify(message)}`);
    return life;
  }

  #body(message: JsonObject): BodyStream {
    const body = this.#bodies.get(requestIdOf(message));
    if (!body) throw new Error(`no streamed request for ${JSON.stringify(message)}`);
    return body;
  }
}

const requestIdOf = ({ params }: JsonObject) => String(isObject(params) ? params.requestId : undefined);
