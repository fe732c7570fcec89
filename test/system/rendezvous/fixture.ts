import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { Scope, silentLogger } from '../../../src/base/index.ts';
import { decodeFrame, encodeFrame, type RelayBody, type RelayFrame } from '../../../src/relay/index.ts';
import {
  AuditLog,
  freshTokens,
  type RendezvousOptions,
  RendezvousService,
  SigningKeys,
} from '../../../src/relay/rendezvous/index.ts';

export interface Answer {
  readonly status: number;
  readonly body: Record<string, string> & { error?: { code: string; message: string } };
  readonly headers: Headers;
}

type TokenScope = 'executor' | 'harness' | 'admin';

/** A client of the registry, for a rendezvous in this process or another. */
export class RegistryCaller {
  readonly url: string;
  readonly tokens: Readonly<Record<TokenScope, string>>;

  constructor(url: string, tokens: Readonly<Record<TokenScope, string>>) {
    this.url = url;
    this.tokens = tokens;
  }

  async post(path: string, scope: TokenScope | string, body: unknown): Promise<Answer> {
    const token = this.tokens[scope as TokenScope] ?? scope;
    const response = await fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return answerOf(response);
  }

  register(environmentId: string, key: object = randomKey()): Promise<Answer> {
    const body = { security_profile: 'noise_hybrid_ik_v1', executor_public_key: key };
    return this.post(`/cloud/environment/${environmentId}/register`, 'executor', body);
  }

  connect(environmentId: string, key: object = randomKey()): Promise<Answer> {
    return this.post(`/cloud/environment/${environmentId}/connect`, 'harness', { harness_public_key: key });
  }

  async validate(environmentId: string, bundle: Record<string, unknown>, key: object): Promise<unknown> {
    const { executor_registration_id, harness_key_authorization } = bundle;
    const body = { executor_registration_id, harness_public_key: key, harness_key_authorization };
    return (await this.post(`/cloud/environment/${environmentId}/validate`, 'executor', body)).body;
  }

  async ask(path: string, method = 'GET', scope: TokenScope = 'admin'): Promise<Answer> {
    return answerOf(
      await fetch(`${this.url}${path}`, { method, headers: { authorization: `Bearer ${this.tokens[scope]}` } }),
    );
  }

  /** Registers, and opens the environment's socket. */
  async environment(environmentId = 'env', key: object = randomKey()): Promise<Endpoint & { registration: Answer }> {
    const registration = await this.register(environmentId, key);
    const endpoint = await Endpoint.open(registration.body.url!);
    return Object.assign(endpoint, { registration });
  }

  async harness(environmentId = 'env', key: object = randomKey()): Promise<Endpoint> {
    const { status, body } = await this.connect(environmentId, key);
    if (status !== 200) throw new Error(`connect was answered ${status} ${JSON.stringify(body)}`);
    return Endpoint.open(body.url!);
  }
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, body: isJson ? JSON.parse(text) : { text }, headers: response.headers };
}

/** A rendezvous in this process. */
export class TestRendezvous extends RegistryCaller implements AsyncDisposable {
  readonly #scope: Scope;

  constructor(url: string, tokens: Readonly<Record<TokenScope, string>>, scope: Scope) {
    super(url, tokens);
    this.#scope = scope;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope[Symbol.asyncDispose]();
  }
}

type Service = Pick<RendezvousOptions, 'keys' | 'limits' | 'now' | 'publicUrl' | 'cluster'>;

export interface TestRendezvousOptions extends Partial<Service> {
  readonly auditPath?: string;
  readonly access?: ReturnType<typeof freshTokens>;
}

export async function startRendezvous(options: TestRendezvousOptions = {}): Promise<TestRendezvous> {
  const { auditPath, access = freshTokens(), ...service } = options;
  const scope = new Scope();
  const { url } = scope.own(
    await RendezvousService.start({
      host: '127.0.0.1',
      port: 0,
      verifier: access.verifier,
      keys: SigningKeys.random(),
      audit: scope.own(new AuditLog(silentLogger, auditPath)),
      log: silentLogger,
      ...service,
    }),
  );
  return new TestRendezvous(url, access.shown, scope);
}

/** A well-formed key. The service never uses it, so it need not be valid. */
export const randomKey = (): object => ({
  suite: 'Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256',
  x25519_public_key: randomBytes(32).toString('base64'),
  mlkem768_public_key: randomBytes(1184).toString('base64'),
});

export type ShownFrame = { streamId: string } & Record<string, unknown>;

/** One end of a socket to the rendezvous: sends frames and remembers those that came. */
export class Endpoint implements AsyncDisposable {
  readonly ws: WebSocket;
  /** The code the socket was closed with. */
  readonly closed: Promise<number>;
  readonly #frames: RelayFrame[] = [];
  #wake: (() => void)[] = [];
  #isClosed = false;

  private constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on('message', (data) => {
      this.#frames.push(decodeFrame(data as Buffer));
      this.#changed();
    });
    this.closed = new Promise((resolve) => {
      ws.once('close', (code) => {
        this.#isClosed = true;
        this.#changed();
        resolve(code);
      });
    });
    ws.on('error', () => {}); // told by `close`
  }

  static async open(url: string): Promise<Endpoint> {
    const ws = new WebSocket(url, { perMessageDeflate: false });
    const endpoint = new Endpoint(ws);
    const refused = new Promise<never>((_, reject) => {
      ws.once('unexpected-response', (_request, response) => {
        reject(Object.assign(new Error(`upgrade answered ${response.statusCode}`), { status: response.statusCode }));
        ws.terminate();
      });
    });
    await Promise.race([once(ws, 'open'), refused]);
    return endpoint;
  }

  /** The status an upgrade is refused with. */
  static async refusal(url: string): Promise<number> {
    try {
      const endpoint = await Endpoint.open(url);
      endpoint.ws.terminate();
      return 101;
    } catch (error) {
      return (error as { status: number }).status;
    }
  }

  send(streamId: string, body: RelayBody): void {
    this.ws.send(encodeFrame({ streamId, body }));
  }

  data(streamId: string, seq: number, payload: string | Uint8Array = `${seq}`): void {
    this.send(streamId, data(seq, payload));
  }

  /** Claims a stream as a harness does, without a handshake. */
  begin(streamId: string = randomUUID()): string {
    this.send(streamId, { type: 'resume', nextSeq: 0 });
    return streamId;
  }

  /** The next frame, abbreviated. */
  async next(): Promise<ShownFrame> {
    while (this.#frames.length === 0) {
      if (this.#isClosed) throw new Error('the socket was closed before a frame came');
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
    return short(this.#frames.shift()!);
  }

  async take(count: number): Promise<ShownFrame[]> {
    const taken: ShownFrame[] = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  /** The next frame of a kind; others before it are dropped. */
  async nextOf(type: RelayBody['type']): Promise<ShownFrame> {
    for (;;) {
      const frame = await this.next();
      if (frame.type === type) return frame;
    }
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ws.terminate();
    await this.closed;
  }
}

export const data = (seq: number, payload: string | Uint8Array): RelayBody => ({
  type: 'data',
  seq,
  segmentIndex: 0,
  segmentCount: 1,
  payload: Buffer.from(payload),
});

function short({ streamId, body }: RelayFrame): ShownFrame {
  if (body.type === 'data') {
    const { type, seq, payload } = body;
    return { streamId, type, seq, text: Buffer.from(payload).toString() };
  }
  if (body.type === 'handshake') return { streamId, type: body.type, text: Buffer.from(body.payload).toString() };
  return { streamId, ...body };
}

export const handshake = (text = 'hello'): RelayBody => ({ type: 'handshake', payload: Buffer.from(text) });

/** A stream on which both ends have sent a frame. */
export async function establish(harness: Endpoint, environment: Endpoint, streamId?: string): Promise<string> {
  const stream = harness.begin(streamId);
  harness.send(stream, handshake());
  await environment.nextOf('handshake');
  environment.send(stream, handshake('welcome'));
  await harness.nextOf('handshake');
  return stream;
}

/** A stream whose ends have exchanged heartbeats, so both resend lost frames. */
export async function establishReliable(harness: Endpoint, environment: Endpoint): Promise<string> {
  const stream = await establish(harness, environment);
  harness.send(stream, { type: 'heartbeat' });
  await environment.nextOf('heartbeat');
  environment.send(stream, { type: 'heartbeat' });
  await harness.nextOf('heartbeat');
  return stream;
}
