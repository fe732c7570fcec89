import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { Scope } from '../../src/base/index.ts';
import { decodeFrame, encodeFrame, type RelayBody } from '../../src/relay/index.ts';
import { freshTokens } from '../../src/relay/rendezvous/index.ts';
import { BackgroundProgram } from '../../test/support/remote-programs.ts';
import { RegistryCaller } from '../../test/system/rendezvous/fixture.ts';
import { ProcessTree } from '../process-tree.ts';
import type { Progress } from '../progress.ts';
import { median, quantile } from '../stats.ts';

export interface CrowdOptions {
  readonly environments: number;
  readonly streams: number;
  readonly seconds: number;
}

/** Of the one node, with nothing connected, with idle environments, and with streams that exchange frames. */
export interface CrowdResult extends CrowdOptions {
  readonly emptyMiB: number;
  readonly idleMiB: number;
  readonly idleCpuPercent: number;
  readonly activeMiB: number;
  readonly activeCpuPercent: number;
  readonly framesPerSecond: number;
  readonly roundTripMs: { readonly p50: number; readonly p99: number };
}

/** Each token may open 64 sockets a second. */
const SOCKETS_PER_TOKEN = 60;
const STREAMS_PER_ENVIRONMENT = 20;
/** What each active stream sends and gets back, again and again, with a pause: a terminal, not a file. */
const PAYLOAD = randomBytes(1024);
const PAUSE_MS = 100;

/** Many idle environments and some busy streams on one node, which sees frames and never what is in them. */
export async function measureCrowd(options: CrowdOptions, progress: Progress): Promise<CrowdResult> {
  await using scope = new Scope();
  const { callers, pid } = await startNode(
    scope,
    Math.ceil((options.environments + options.streams) / SOCKETS_PER_TOKEN),
  );
  const node = new ProcessTree(pid);
  const emptyMiB = node.memory().rssMiB;

  progress.show(`${options.environments} environments connect`);
  const environments = await inBatches(options.environments, async (n) => {
    const socket = await opened(scope, (await callers[n % callers.length]!.register(`env-${n}`)).body.url!);
    echo(socket);
  });
  const idle = await watch(node, options.seconds);

  progress.show(`${options.streams} streams begin`);
  const streams = await inBatches(options.streams, async (n) => {
    const environment = `env-${Math.floor(n / STREAMS_PER_ENVIRONMENT) % environments.length}`;
    const { status, body } = await callers[n % callers.length]!.connect(environment);
    if (status !== 200) throw new Error(`connect was answered with ${status}`);
    return ActiveStream.begin(await opened(scope, body.url!));
  });
  progress.show('frames are exchanged');
  for (const stream of streams) stream.start();
  const active = await watch(node, options.seconds);
  for (const stream of streams) stream.stop();
  progress.finish('crowd');

  const trips = streams.flatMap(({ trips }) => trips);
  return {
    ...options,
    emptyMiB,
    idleMiB: idle.rssMiB,
    idleCpuPercent: idle.cpuPercent,
    activeMiB: active.rssMiB,
    activeCpuPercent: active.cpuPercent,
    framesPerSecond: (2 * trips.length) / active.seconds,
    roundTripMs: { p50: median(trips), p99: quantile(trips, 0.99) },
  };
}

async function startNode(scope: Scope, count: number) {
  const folder = await mkdtemp(join(tmpdir(), 'exec-server-crowd-'));
  scope.defer(() => rm(folder, { recursive: true }));
  const fresh = Array.from({ length: count }, freshTokens);
  const file = join(folder, 'tokens.json');
  await writeFile(file, JSON.stringify({ tokens: fresh.flatMap(({ tokens }) => tokens) }));
  const args = ['rendezvous', '--listen', 'http://127.0.0.1:0', '--tokens-file', file];
  const program = scope.own(new BackgroundProgram({ args, env: { EXEC_SERVER_LOG: 'error' } }));
  const url = await program.line();
  return { callers: fresh.map(({ shown }) => new RegistryCaller(url, shown)), pid: program.pid };
}

/** Begins a few at a time, as the environments of a real service do. */
async function inBatches<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) {
    const batch = Array.from({ length: Math.min(20, count - made.length) }, (_, n) => make(made.length + n));
    made.push(...(await Promise.all(batch)));
  }
  return made;
}

async function opened(scope: Scope, url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  scope.defer(() => socket.terminate());
  await once(socket, 'open');
  return socket;
}

/** An executor as the node sees one: answers handshakes, and every frame with one of its own. */
function echo(socket: WebSocket): void {
  socket.on('message', (data) => {
    const { streamId, body } = decodeFrame(data as Buffer);
    if (body.type === 'data' || body.type === 'handshake') socket.send(encodeFrame({ streamId, body }));
  });
}

/** One stream that sends a frame and waits for the echo, again and again. */
class ActiveStream {
  readonly trips: number[] = [];
  readonly #socket: WebSocket;
  readonly #streamId = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #seq = 0;
  #sentAt = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async begin(socket: WebSocket): Promise<ActiveStream> {
    const stream = new ActiveStream(socket);
    stream.#send({ type: 'resume', nextSeq: 0 });
    stream.#send({ type: 'handshake', payload: PAYLOAD });
    await once(socket, 'message');
    socket.on('message', () => {
      stream.trips.push(performance.now() - stream.#sentAt);
      stream.#timer = setTimeout(() => stream.#sendNext(), PAUSE_MS);
    });
    return stream;
  }

  start(): void {
    this.#timer = setTimeout(() => this.#sendNext(), Math.random() * PAUSE_MS);
  }

  stop(): void {
    this.#socket.removeAllListeners('message');
    clearTimeout(this.#timer);
  }

  #sendNext(): void {
    this.#sentAt = performance.now();
    this.#send({ type: 'data', seq: this.#seq++, segmentIndex: 0, segmentCount: 1, payload: PAYLOAD });
  }

  #send(body: RelayBody): void {
    this.#socket.send(encodeFrame({ streamId: this.#streamId, body }));
  }
}

async function watch(node: ProcessTree, forSeconds: number) {
  const [since, before] = [performance.now(), node.cpuSeconds().own];
  await new Promise((resolve) => setTimeout(resolve, forSeconds * 1000));
  const seconds = (performance.now() - since) / 1000;
  const cpuPercent = (100 * (node.cpuSeconds().own - before)) / seconds;
  return { rssMiB: node.memory().rssMiB, cpuPercent, seconds };
}
