import { setMaxListeners } from 'node:events';
import { createRequire } from 'node:module';
import type { Dispatcher } from 'undici';
import { Deadline } from '../../base/index.ts';
import { ExecError, limits, type Params, type Result } from '../../protocol/index.ts';
import type { Outgoing } from '../http/index.ts';
import { type HttpMessage, httpMessage, type UnsendableVariable } from './http-message.ts';
import { MOST_REDIRECTS, redirected } from './redirect.ts';
import type { ServiceCookies } from './service-cookies.ts';

export interface HttpClientOptions {
  /** Header values and proxy settings come from its environment. */
  readonly outgoing: Outgoing;
  readonly isUnsendable: UnsendableVariable;
  /** Shared by all clients of a server, because these cookies do not identify a user. */
  readonly cookies: ServiceCookies;
  /** Passes on a piece of a streamed body; the promise, if any, resolves when there is room for more. */
  readonly onDelta: (delta: BodyDelta) => void | Promise<void>;
  /** Pending while answers wait for the client to read; buffered bodies are not read meanwhile. */
  readonly room?: () => Promise<void> | undefined;
}

export interface BodyDelta {
  readonly requestId: string;
  readonly seq: number;
  readonly deltaBase64: Uint8Array;
  readonly done: boolean;
  readonly error: string | null;
}

type RequestParams = Params<'http/request'>;
type RequestResult = Result<'http/request'>;
type Answer = Dispatcher.ResponseData;
type Scheme = 'http:' | 'https:';

/** Makes HTTP requests for one client. Disposal aborts them. */
export class HttpClient implements AsyncDisposable {
  readonly #options: HttpClientOptions;
  readonly #streaming = new Set<string>();
  readonly #end = new AbortController();
  readonly #dispatchers = new Map<Scheme, Dispatcher>();

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  async request(params: RequestParams): Promise<RequestResult> {
    const { outgoing, isUnsendable } = this.#options;
    const message = httpMessage(params, outgoing.environment, isUnsendable);
    return params.streamResponse ? this.#streamed(params, message) : this.#buffered(params, message);
  }

  async #buffered(params: RequestParams, message: HttpMessage): Promise<RequestResult> {
    using deadline = new Deadline(params.timeoutMs, this.#ended);
    const answer = await this.#exchange(params, message, deadline.signal);
    return { ...head(answer), bodyBase64: await wholeBody(answer, this.#options.room) };
  }

  async #streamed(params: RequestParams, message: HttpMessage): Promise<RequestResult> {
    const { requestId } = params;
    if (this.#streaming.has(requestId)) {
      const busy = `http/request streamResponse requestId \`${requestId}\` is already active`;
      throw new ExecError('invalidParams', busy);
    }
    this.#streaming.add(requestId);
    const deadline = new Deadline(params.timeoutMs, this.#ended);
    try {
      const answer = await this.#exchange(params, message, deadline.signal);
      // The response leaves in this turn of the event loop, its body in a later one.
      setImmediate(() => void this.#stream(requestId, answer, deadline));
      return { ...head(answer), bodyBase64: new Uint8Array(0) };
    } catch (error) {
      deadline[Symbol.dispose]();
      this.#streaming.delete(requestId);
      throw error;
    }
  }

  async #stream(requestId: string, { body }: Answer, deadline: Deadline): Promise<void> {
    let seq = 1;
    const piece = (deltaBase64: Uint8Array) => ({ requestId, seq: seq++, deltaBase64, done: false, error: null });
    let error: string | null = null;
    try {
      for await (const chunk of body) {
        for (const part of parts(chunk as Uint8Array)) await this.#options.onDelta(piece(part));
      }
    } catch (failure) {
      error = bodyFailure(failure);
    }
    deadline[Symbol.dispose]();
    this.#streaming.delete(requestId);
    if (this.#ended.aborted) return;
    await this.#options.onDelta({ ...piece(new Uint8Array(0)), done: true, error });
  }

  /** Sends the message, follows redirects if asked to, and returns the last answer with its body unread. */
  async #exchange({ redirectPolicy }: RequestParams, first: HttpMessage, signal: AbortSignal): Promise<Answer> {
    const { cookies } = this.#options;
    let message = first;
    for (let redirects = 0; ; redirects++) {
      const answer = await send(this.#dispatcher(message.url), withCookies(message, cookies), signal);
      cookies.take(message.url, valuesOf(answer, 'set-cookie'));
      const next = redirectPolicy === 'stop' ? undefined : follow(message, answer);
      if (!next) return answer;
      await answer.body.dump({ limit: DUMPED_BYTES, signal }).catch(() => undefined); // its body is not needed
      if (redirects === MOST_REDIRECTS) throw failed('too many redirects');
      message = next;
    }
  }

  #dispatcher({ protocol }: URL): Dispatcher {
    const scheme = protocol as Scheme;
    const known = this.#dispatchers.get(scheme);
    if (known) return known;
    const dispatcher = createDispatcher(this.#options.outgoing, scheme);
    this.#dispatchers.set(scheme, dispatcher);
    return dispatcher;
  }

  /** Aborts with disposal. Node makes a signal when it is first read: it takes 1.4 KiB, and most clients send no request. */
  get #ended(): AbortSignal {
    const { signal } = this.#end;
    setMaxListeners(0, signal); // every request adds a listener
    return signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
  }
}

/** The connection of a redirect with a longer body is closed. */
const DUMPED_BYTES = 64 * 1024;

/**
 * Loads modules with the first request, as most clients send none. A dynamic import has no callback in code that Node loaded from
 * a compilation cache.
 */
const load = createRequire(import.meta.url);

/** Connections are kept for a few seconds at most, and go through the proxies that the server's environment names. */
function createDispatcher({ environment: env, roots }: Outgoing, scheme: Scheme): Dispatcher {
  const tls = tlsOptions(roots, scheme);
  const { EnvHttpProxyAgent } = load('undici') as typeof import('undici');
  const everything = env.all_proxy || env.ALL_PROXY || '';
  return new EnvHttpProxyAgent({
    httpProxy: supported(env.http_proxy || env.HTTP_PROXY || everything),
    httpsProxy: supported(env.https_proxy || env.HTTPS_PROXY || everything),
    noProxy: env.no_proxy || env.NO_PROXY || '',
    proxyTunnel: false,
    connections: limits.httpConnectionsPerOrigin,
    keepAliveTimeout: 4000,
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: 0,
    ...tls,
  });
}

/** An unusable certificate file fails plain requests too, so that the operator notices it at once. */
function tlsOptions(roots: Outgoing['roots'], scheme: Scheme) {
  try {
    if (scheme === 'http:') return void roots.check();
    const connect = { secureContext: roots.context };
    return { connect: { ...connect, timeout: 0 }, requestTls: connect, proxyTls: connect };
  } catch (error) {
    throw failed((error as Error).message, error);
  }
}

/** `socks5h` differs from `socks5` in who resolves names; here the proxy always does. */
function supported(proxy: string): string {
  return proxy.replace(/^socks5h:/, 'socks5:');
}

/** Adds the service cookies, unless the request has a `Cookie` header. */
function withCookies(message: HttpMessage, cookies: ServiceCookies): HttpMessage {
  const { url, headers } = message;
  if (headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'cookie')) return message;
  const kept = cookies.header(url);
  return kept === undefined ? message : { ...message, headers: [...headers, 'cookie', kept] };
}

async function send(dispatcher: Dispatcher, message: HttpMessage, signal: AbortSignal): Promise<Answer> {
  const { method, url, headers, body } = message;
  try {
    if (method === 'CONNECT') throw new Error('CONNECT opens a tunnel, which http/request does not support');
    const answer = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: [...headers],
      body: body ?? null,
      signal,
      responseHeaders: 'raw',
    });
    answer.body.on('error', () => {}); // readers of the body get the error; without a listener it would end the server
    return answer;
  } catch (error) {
    throw failed(`error sending request for url (${url.href}): ${sendFailure(error)}`, error);
  }
}

function failed(reason: string, cause?: unknown): ExecError {
  return new ExecError('internal', `http/request failed: ${reason}`, { cause });
}

function sendFailure(error: unknown): string {
  const { name, message, code } = error as Error & { code?: string };
  if (name === 'TimeoutError') return 'operation timed out';
  return message || code || name;
}

function bodyFailure(error: unknown): string {
  return (error as Error).name === 'TimeoutError' ? 'operation timed out' : 'error decoding response body';
}

type RawHeaders = readonly string[];

function head({ statusCode, headers }: Answer): Omit<RequestResult, 'bodyBase64'> {
  const raw = headers as unknown as RawHeaders;
  const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [{ name: name.toLowerCase(), value: raw[at + 1]! }] : []));
  return { status: statusCode, headers: pairs.filter(({ value }) => VISIBLE.test(value)) };
}

const VISIBLE = /^[\t\x20-\x7e]*$/;

function valuesOf(answer: Answer, wanted: string): string[] {
  return head(answer).headers.flatMap(({ name, value }) => (name === wanted ? [value] : []));
}

function follow(message: HttpMessage, answer: Answer): HttpMessage | undefined {
  const [location] = valuesOf(answer, 'location');
  try {
    return redirected(message, answer.statusCode, location);
  } catch (error) {
    answer.body.destroy();
    throw failed((error as Error).message);
  }
}

async function wholeBody({ body }: Answer, room: HttpClientOptions['room']): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    await room?.();
    for await (const chunk of body) {
      bytes += (chunk as Uint8Array).length;
      if (bytes > limits.bufferedHttpBodyBytes) break;
      chunks.push(chunk as Uint8Array);
      await room?.();
    }
  } catch (error) {
    const text = `failed to read http/request response body: ${bodyFailure(error)}`;
    throw new ExecError('internal', text, { cause: error });
  }
  if (bytes <= limits.bufferedHttpBodyBytes) return Buffer.concat(chunks);
  throw failed(`response body is larger than ${limits.bufferedHttpBodyBytes} bytes; ask for it with streamResponse`);
}

function* parts(chunk: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < chunk.length; at += limits.httpBodyDeltaBytes) {
    yield chunk.subarray(at, at + limits.httpBodyDeltaBytes);
  }
}
