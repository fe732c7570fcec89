import { randomUUID } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import { encodeFrame, readEnvelope } from '../../src/relay/index.ts';
import type { ServerKeys } from './test-authority.ts';

export interface RegistryRequest {
  /** The last part of the path: `register`, `connect`, `validate`. */
  readonly call: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export interface RegistryAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: object | string;
}

export type Role = 'environment' | 'harness';

const PROFILE = 'noise_hybrid_ik_v1';

/** A registry and a rendezvous in one; a test replaces any of their answers. */
export class ScriptedRegistry implements AsyncDisposable {
  /** The answer to a request; where it is undefined, the registry answers itself. */
  script: (request: RegistryRequest) => RegistryAnswer | undefined = () => undefined;
  /** The status that a websocket is refused with, if any. */
  refuse: (role: Role, url: string) => number | undefined = () => undefined;
  /** Whether a stream waits for an end that lost its socket, as one with acknowledged delivery may. */
  keepsStreams = false;
  readonly requests: RegistryRequest[] = [];
  /** Addresses of the websockets that were asked for, refused ones too. */
  readonly upgrades: { readonly role: Role; readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  readonly harnesses = new Map<string, WebSocket>();
  environment: WebSocket | undefined;
  readonly #events = new EventEmitter();
  readonly #keys: ServerKeys | undefined;
  readonly #http: ReturnType<typeof createServer>;
  readonly #sockets = new WebSocketServer({ noServer: true });
  #executorKey: unknown;
  #registrationId = '';

  private constructor(keys: ServerKeys | undefined) {
    this.#keys = keys;
    const respond: RequestListener = (request, response) => {
      void this.#answer(request).then(({ status = 200, headers = {}, body = {} }) => {
        response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
      });
    };
    this.#http = keys ? createSecureServer(keys, respond) : createServer(respond);
  }

  /** With keys it is reached by TLS only. */
  static async start(keys?: ServerKeys): Promise<ScriptedRegistry> {
    const registry = new ScriptedRegistry(keys);
    registry.#http.on('upgrade', (request, socket, head) => registry.#upgrade(request, socket, head));
    await new Promise<void>((resolve) => registry.#http.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  get url(): string {
    return `${this.#keys ? 'https' : 'http'}://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  count(call: string): number {
    return this.requests.filter((request) => request.call === call).length;
  }

  /** Resolves when something has happened that makes the condition true. */
  async until(condition: () => boolean): Promise<void> {
    if (condition()) return;
    for await (const _ of on(this.#events, 'change', { signal: AbortSignal.timeout(20_000) })) if (condition()) return;
  }

  connected(): Promise<void> {
    return this.until(() => this.environment !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of [this.environment, ...this.harnesses.values()]) socket?.terminate();
    this.#http.close();
    this.#http.closeAllConnections();
  }

  async #answer(incoming: IncomingMessage): Promise<RegistryAnswer> {
    const path = incoming.url ?? '';
    const body = JSON.parse((await text(incoming)) || '{}') as Record<string, unknown>;
    const request = { call: path.split('/').at(-1) ?? '', path, headers: incoming.headers, body };
    this.requests.push(request);
    const answer = this.script(request) ?? this.defaultAnswer(request);
    this.#events.emit('change');
    return answer;
  }

  /** The answer of a registry that works. */
  defaultAnswer({ call, path, body }: RegistryRequest): RegistryAnswer {
    const environmentId = path.split('/').at(-2);
    const facts = { environment_id: environmentId, security_profile: PROFILE };
    const ws = this.url.replace('http', 'ws');
    if (call === 'register') {
      this.#executorKey = body.executor_public_key;
      this.#registrationId = randomUUID();
      const url = `${ws}/ws?role=environment&registration=${this.#registrationId}`;
      return { body: { ...facts, url, executor_registration_id: this.#registrationId } };
    }
    if (call === 'validate') return { body: { valid: body.harness_key_authorization === 'authorized' } };
    if (!this.environment) return { status: 409, body: { error: { code: 'environment_offline', message: 'offline' } } };
    return {
      body: {
        ...facts,
        url: `${ws}/ws?role=harness`,
        executor_registration_id: this.#registrationId,
        executor_public_key: this.#executorKey,
        harness_key_authorization: 'authorized',
      },
    };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = request.url ?? '';
    const role: Role = url.includes('role=environment') ? 'environment' : 'harness';
    this.upgrades.push({ role, url, headers: request.headers });
    const status = this.refuse(role, url);
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      this.#events.emit('change');
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (ws) => {
      if (role === 'environment') this.#environmentJoins(ws);
      else this.#harnessJoins(ws);
      this.#events.emit('change');
    });
  }

  #environmentJoins(ws: WebSocket): void {
    this.environment = ws;
    ws.on('message', (data: Buffer) => {
      const streamId = readEnvelope(data)?.streamId;
      if (streamId !== undefined) this.harnesses.get(streamId)?.send(data);
    });
    ws.on('close', () => {
      if (this.environment === ws) this.environment = undefined;
      if (!this.keepsStreams) for (const harness of this.harnesses.values()) harness.close();
      this.#events.emit('change');
    });
  }

  #harnessJoins(ws: WebSocket): void {
    ws.on('message', (data: Buffer) => {
      const streamId = readEnvelope(data)?.streamId;
      if (streamId !== undefined) this.harnesses.set(streamId, ws);
      this.environment?.send(data);
      this.#events.emit('change');
    });
    ws.on('close', () => {
      for (const [streamId, owner] of this.harnesses) {
        if (owner !== ws) continue;
        this.harnesses.delete(streamId);
        if (!this.keepsStreams)
          this.environment?.send(encodeFrame({ streamId, body: { type: 'reset', reason: 'gone' } }));
      }
      this.#events.emit('change');
    });
  }
}
