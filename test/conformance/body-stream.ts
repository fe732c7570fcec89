import { isObject, type JsonObject } from './json.ts';
import type { Difference } from './matcher.ts';

/** The streamed body of one `http/request`, as recorded and as sent by the server under test. */
export class BodyStream {
  readonly #requestId: string;
  readonly #recorded = new Deltas();
  readonly #actual = new Deltas();
  #firstDelta = Number.POSITIVE_INFINITY;
  #response = -1;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  expect(message: JsonObject): void {
    this.#recorded.add(message);
  }

  /** A delta that arrived as message number `index` of its connection. */
  observe(message: JsonObject, index: number): void {
    this.#firstDelta = Math.min(this.#firstDelta, index);
    this.#actual.add(message);
  }

  /** The answer to the request arrived as message number `index`. */
  answered(index: number): void {
    this.#response = index;
  }

  get outstanding(): Difference {
    const lacks = this.#recorded.done !== this.#actual.done || this.#actual.body.length < this.#recorded.body.length;
    return lacks ? `http/request/bodyDelta of ${this.#requestId}` : undefined;
  }

  get verdict(): Difference {
    const [wanted, got] = [this.#recorded, this.#actual].map((deltas) => deltas.summary);
    if (wanted !== got) return `body of ${this.#requestId}: expected ${wanted}, got ${got}`;
    if (!this.#actual.consecutive) return `body of ${this.#requestId}: seq does not count from 1`;
    return this.#firstDelta < this.#response ? `body of ${this.#requestId} precedes its response` : undefined;
  }
}

/** Deltas put together: where a body is cut is free, and so are the words of an error. */
class Deltas {
  body = Buffer.alloc(0);
  done = false;
  consecutive = true;
  #failed = false;
  #count = 0;

  add(message: JsonObject): void {
    const params = isObject(message.params) ? message.params : {};
    this.#count += 1;
    this.consecutive &&= params.seq === this.#count && !this.done;
    this.done = params.done === true;
    this.#failed ||= typeof params.error === 'string';
    this.body = Buffer.concat([this.body, Buffer.from(String(params.deltaBase64), 'base64')]);
  }

  get summary(): string {
    return `${JSON.stringify(this.body.toString('latin1'))}, ${this.done ? 'done' : 'open'}${this.#failed ? ', failed' : ''}`;
  }
}
