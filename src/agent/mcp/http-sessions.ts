import { randomUUID } from 'node:crypto';
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Logger } from '../../base/index.ts';
import { limits } from './limits.ts';
import { createMcpServer } from './server.ts';
import { McpSession } from './session.ts';
import type { OpenToolSet } from './tool.ts';

interface HttpSession {
  readonly id: string;
  readonly session: McpSession;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** How many responses are still being sent. */
  openResponses: number;
  lastUsed: number;
}

/** The sessions over HTTP, which begin with `initialize` and have tools of their own. */
export class HttpSessions implements AsyncDisposable {
  readonly #openToolSet: OpenToolSet;
  readonly #log: Logger;
  readonly #sessions = new Map<string, HttpSession>();
  readonly #sweeper = setInterval(() => void this.#sweep(), limits.sweepIntervalMs).unref();

  constructor(openToolSet: OpenToolSet, log: Logger) {
    this.#openToolSet = openToolSet;
    this.#log = log;
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : this.#sessions.get(id);
    if (known) return this.#answer(known, request);
    if (id !== null) return problem(404, -32_001, 'unknown session; begin a new one with initialize');
    const body: unknown = await request
      .clone()
      .json()
      .catch(() => undefined); // not JSON, so not `initialize` either
    if (!isInitializeRequest(body)) return problem(400, -32_000, 'a session begins with initialize');
    const begun = await this.#begin();
    const response = await this.#answer(begun, request);
    if (begun.transport.sessionId === undefined) await this.#end(begun.id); // the transport has refused the request
    return response;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  async #begin(): Promise<HttpSession> {
    const id = randomUUID();
    const session = await McpSession.open(this.#openToolSet, this.#log);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.#end(id),
    });
    await createMcpServer(session, this.#log).connect(transport);
    const begun = { id, session, transport, openResponses: 0, lastUsed: performance.now() };
    const evicted = this.#sessions.size >= limits.httpSessions ? this.#leastRecent() : undefined;
    this.#sessions.set(id, begun);
    if (evicted !== undefined) await this.#end(evicted);
    return begun;
  }

  async #answer(session: HttpSession, request: Request): Promise<Response> {
    session.openResponses++;
    let isOpen = true;
    const close = () => {
      if (!isOpen) return; // a stream that is cancelled ends too
      isOpen = false;
      session.openResponses--;
      session.lastUsed = performance.now();
    };
    try {
      return observed(await session.transport.handleRequest(request), close);
    } catch (error) {
      close();
      throw error;
    }
  }

  /** The session that has been idle longest; a busy one only if all are. */
  #leastRecent(): string {
    const [first] = [...this.#sessions].sort(
      ([, one], [, other]) =>
        Number(one.openResponses > 0) - Number(other.openResponses > 0) || one.lastUsed - other.lastUsed,
    );
    return first![0];
  }

  async #sweep(): Promise<void> {
    const since = performance.now() - limits.idleSessionMs;
    const idle = [...this.#sessions].filter(([, session]) => session.openResponses === 0 && session.lastUsed < since);
    await Promise.all(idle.map(([id]) => this.#end(id)));
  }

  async #end(id: string): Promise<void> {
    const ended = this.#sessions.get(id);
    if (!ended) return;
    this.#sessions.delete(id);
    await ended.session[Symbol.asyncDispose]();
    await ended.transport.close();
  }
}

/** The same response, which calls `onEnd` when its body has been sent or cancelled. */
function observed(response: Response, onEnd: () => void): Response {
  if (!response.body) {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error) => {
        onEnd();
        throw error;
      });
      if (!done) return controller.enqueue(value);
      onEnd();
      controller.close();
    },
    async cancel(reason) {
      onEnd();
      await reader.cancel(reason);
    },
  });
  return new Response(body, response);
}

function problem(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
