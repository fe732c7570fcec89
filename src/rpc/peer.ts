import { concatBytes, type Deferred, deferred, encodeUtf8 } from '../base/index.ts';
import { ExecError, limits } from '../protocol/index.ts';
import { AnswerQueue } from './answer-queue.ts';
import { type Message, type PayloadDecoder, parseMessage, type RequestId } from './envelope.ts';
import { type Lane, Lanes } from './lanes.ts';
import type { Link } from './link.ts';
import { PendingBytes } from './pending-bytes.ts';

export interface EncodedResultOptions {
  /** Called when the peer has received the result. */
  readonly onDelivered?: (() => void) | undefined;
  /** Called when the link has taken the result and has room for another, or is gone. */
  readonly onSent?: (() => void) | undefined;
  readonly room?: Room;
}

/** A result as JSON text. */
export class EncodedResult {
  readonly parts: readonly Uint8Array[];
  readonly onDelivered: (() => void) | undefined;
  readonly onSent: (() => void) | undefined;
  readonly #room: Room | undefined;

  constructor(parts: readonly Uint8Array[], { onDelivered, onSent, room }: EncodedResultOptions = {}) {
    this.parts = parts;
    this.onDelivered = onDelivered;
    this.onSent = onSent;
    this.#room = room;
  }

  /** The result between two texts, without a copy if the buffer has room for them. */
  between(head: Uint8Array, tail: Uint8Array): Uint8Array {
    const [part] = this.parts;
    if (!part || !this.#room || this.#room.before < head.length || this.#room.after < tail.length) {
      return concatBytes([head, ...this.parts, tail]);
    }
    const whole = new Uint8Array(part.buffer, part.byteOffset - head.length, head.length + part.length + tail.length);
    whole.set(head);
    whole.set(tail, head.length + part.length);
    return whole;
  }
}

/** A result that may be large, made when the link has room for it. */
export class DeferredResult {
  readonly make: () => unknown;

  constructor(make: () => unknown) {
    this.make = make;
  }
}

/** A result as JSON text that was made before. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Bytes that are free before and after the only part of a result. */
interface Room {
  readonly before: number;
  readonly after: number;
}

/** The connection of a request. */
export interface Ending {
  /** Aborts when the connection is gone. */
  readonly ended: AbortSignal;
}

/** Handles the messages of the peer. */
export interface Service {
  lane(method: string, params: unknown): Lane;
  /** Whether the answer may be large: such a request is started only when earlier large answers have been sent. */
  hasLargeAnswer?(method: string): boolean;
  /** Whether the content of a request stays in memory until it is answered: above a limit the connection is not read. */
  isKeptInMemory?(method: string): boolean;
  /** Whether errors have their details, for a peer that has asked for them. */
  readonly sendsErrorDetails?: boolean;
  /** Returns the wire form of the result; a thrown error becomes the error answer. */
  request(method: string, params: unknown, connection: Ending): unknown;
  /** A thrown error is a violation; while a returned promise is pending the connection is not read. */
  notification(method: string, params: unknown): void | Promise<void>;
  /** Called before the connection goes on (`malformed`) or ends (`notification`, `answer`). */
  violation(kind: Violation, error: Error): void | Promise<void>;
  /** Called when an internal error has ended the connection. */
  fault?(error: unknown): void;
}

/** A message that breaks the protocol: malformed text, a refused notification, or an answer to no request. */
export type Violation = 'malformed' | 'notification' | 'answer';

export interface PeerOptions {
  /** Requests worked on at a time per lane; 1 means strictly in order. */
  readonly concurrentRequests?: number;
  /** A faster decoder for payloads than the portable one. */
  readonly decodePayload?: PayloadDecoder;
}

/** The connection ended before the answer arrived. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/** One end of a JSON-RPC connection in the dialect of the exec-server: no version member, and ids are sent back as written. */
export class Peer implements Ending {
  readonly link: Link;
  readonly #service: Service;
  readonly #lanes: Lanes;
  readonly #decodePayload: PayloadDecoder | undefined;
  readonly #pending = new Map<RequestId, Deferred<unknown>>();
  /** Made for the first request that waits for it: many connections never have one. */
  #ended: AbortController | undefined;
  #isOver = false;
  readonly #deferredAnswers = new AnswerQueue(1);
  readonly #pendingBytes = new PendingBytes(limits.keptContentBytes);
  readonly #largeAnswers = new AnswerQueue(LARGE_ANSWERS_AT_A_TIME);
  #room: Promise<void> | undefined;
  #nextId = 1;
  #received = 0;
  #held = 0;

  constructor(link: Link, service: Service, options: PeerOptions = {}) {
    this.link = link;
    this.#service = service;
    this.#decodePayload = options.decodePayload;
    const width = options.concurrentRequests ?? limits.requestsInFlight;
    this.#lanes = new Lanes(width, limits.requestsInFlight + limits.requestsWaiting);
    void link.closed.then(() => this.#end());
    link.open((bytes) => {
      this.#received++;
      return this.#countingHeld(this.#endingOnFault(() => this.#receive(bytes)));
    });
  }

  /** Aborts when the connection is gone. */
  get ended(): AbortSignal {
    this.#ended ??= new AbortController();
    if (this.#isOver) this.#ended.abort();
    return this.#ended.signal;
  }

  /** The number of messages received. */
  get received(): number {
    return this.#received;
  }

  /** The number of calls without an answer. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Resolves when the link has room for another message; undefined while it has. */
  get room(): Promise<void> | undefined {
    return this.#room;
  }

  /** Whether a message is still being handled, so that later ones are not read. */
  get isBusy(): boolean {
    return this.#held > 0;
  }

  /** Sends a request; the result is the wire form, the error is an `ExecError` or `ConnectionLost`. */
  call(method: string, params: unknown): Promise<unknown> {
    if (this.#isOver) return Promise.reject(new ConnectionLost('the connection is closed'));
    const id = String(this.#nextId++);
    const answer = deferred<unknown>();
    this.#pending.set(id, answer);
    void this.link.send(`{"id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params) ?? 'null'}}`);
    return answer.promise;
  }

  /** Sends a notification; the promise, if any, resolves once there is room for more. */
  notify(method: string, params: unknown): void | Promise<void> {
    return this.link.send(`{"method":${JSON.stringify(method)},"params":${JSON.stringify(params) ?? 'null'}}`);
  }

  #countingHeld(busy: void | Promise<void>): void | Promise<void> {
    if (!busy) return;
    this.#held++;
    return busy.finally(() => this.#held--);
  }

  /** Handles a message; an internal error ends only this connection. */
  #endingOnFault(work: () => void | Promise<void>): void | Promise<void> {
    try {
      return work()?.catch((error) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.link.destroy();
    this.#service.fault?.(error);
  }

  #receive(bytes: Uint8Array): void | Promise<void> {
    let message: Message;
    const { length } = bytes; // before a decoder releases the memory
    try {
      message = parseMessage(bytes, this.#decodePayload);
    } catch (error) {
      const text = `failed to parse ${this.link.source}: ${(error as Error).message}`;
      return this.#service.violation('malformed', new ExecError('invalidRequest', text));
    }
    if (message.type === 'request') return this.#admit(message, length);
    if (message.type === 'notification') return this.#notice(message.method, message.params);
    this.#settle(message);
  }

  #notice(method: string, params: unknown): void | Promise<void> {
    try {
      const busy = this.#service.notification(method, params);
      if (busy) return busy.catch((error) => this.#endAfter('notification', error));
    } catch (error) {
      this.#endAfter('notification', error as Error);
    }
  }

  #endAfter(kind: Violation, error: Error): void {
    this.#service.violation(kind, error);
    this.link.destroy();
  }

  #admit({ id, method, params }: Message & { type: 'request' }, length: number): void | Promise<void> {
    const task = () => this.#endingOnFault(() => this.#answer(id, method, params));
    const lane = this.#service.lane(method, params);
    if (lane === 'parked' && this.#lanes.parked >= limits.parkedRequests) {
      return this.#refuse(id, new ExecError('invalidRequest', TOO_MANY_PARKED));
    }
    if (length < COUNTED_BYTES || !this.#service.isKeptInMemory?.(method)) return this.#lanes.run(lane, task);
    const room = this.#lanes.run(lane, this.#pendingBytes.during(length, task));
    const fewerBytes = this.#pendingBytes.room;
    return fewerBytes && room ? room.then(() => fewerBytes) : (fewerBytes ?? room);
  }

  #answer(id: RequestId, method: string, params: unknown): void | Promise<void> {
    if (this.#service.hasLargeAnswer?.(method)) return this.#largeAnswers.run(() => this.#carryOut(id, method, params));
    return this.#carryOut(id, method, params);
  }

  #carryOut(id: RequestId, method: string, params: unknown): void | Promise<void> {
    if (this.#isOver) return;
    try {
      const result = this.#service.request(method, params, this);
      if (!(result instanceof Promise)) return this.#respond(id, result);
      return result.then((settled) => this.#respond(id, settled)).catch((error) => this.#refuse(id, error));
    } catch (error) {
      return this.#refuse(id, error);
    }
  }

  #respond(id: RequestId, result: unknown): void | Promise<void> {
    if (result instanceof DeferredResult) return this.#deferredAnswers.run(() => this.#respondNow(id, result));
    if (result instanceof EncodedResult) {
      const whole = result.between(encodeUtf8(`{"id":${id},"result":`), CLOSING_BRACE);
      const room = this.#send(whole, result.onDelivered);
      if (!result.onSent) return room;
      return room ? room.then(result.onSent) : result.onSent();
    }
    const text = result instanceof JsonText ? result.text : (JSON.stringify(result) ?? 'null');
    return this.#send(`{"id":${id},"result":${text}}`);
  }

  #respondNow(id: RequestId, { make }: DeferredResult): void | Promise<void> {
    if (this.#isOver) return;
    if (this.#room) return this.#room.then(() => this.#respondNow(id, { make }));
    try {
      return this.#respond(id, make());
    } catch (error) {
      return this.#refuse(id, error);
    }
  }

  #refuse(id: RequestId, error: unknown): void | Promise<void> {
    const wire = ExecError.from(error).toWire({ detailed: this.#service.sendsErrorDetails === true });
    return this.#send(`{"id":${id},"error":${JSON.stringify(wire)}}`);
  }

  #send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    const room = this.link.send(message, onDelivered);
    if (!room) return;
    const noted = room.finally(() => {
      if (this.#room === noted) this.#room = undefined;
    });
    this.#room = noted;
    return noted;
  }

  #settle(message: Message & { type: 'result' | 'error' }): void {
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (!pending)
      this.#endAfter('answer', new ExecError('invalidRequest', `unexpected answer to request ${message.id}`));
    else if (message.type === 'result') pending.resolve(message.result);
    else pending.reject(ExecError.fromWire(message.error));
  }

  #end(): void {
    this.#isOver = true;
    this.#ended?.abort();
    for (const pending of this.#pending.values()) pending.reject(new ConnectionLost('the connection was lost'));
    this.#pending.clear();
  }
}

const TOO_MANY_PARKED = `this connection has ${limits.parkedRequests} requests waiting for something to happen; wait for one of them`;
/** Shorter requests are bounded by the number of requests. */
const COUNTED_BYTES = 16 * 1024;
/** Several, so that a slow answer does not delay all others. */
const LARGE_ANSWERS_AT_A_TIME = 4;
const CLOSING_BRACE = encodeUtf8('}');
