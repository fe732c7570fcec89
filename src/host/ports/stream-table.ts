import { Deadline, faultFields, type Logger } from '../../base/index.ts';
import { ExecError, type Params, type Result } from '../../protocol/index.ts';
import { ConnectError, type Connection, connect, type NetworkNamespace } from '../os/index.ts';
import { type ClientAudience, ClosedRetention, type InputBudget } from '../stream/index.ts';
import { cannotConnect } from './connect-errors.ts';
import { type Endpoint, endpointsOf } from './destination.ts';
import { ForwardRules } from './forward-rules.ts';
import { portLimits } from './limits.ts';
import { NetStream, type StreamBytes } from './net-stream.ts';
import { networkOf, type SessionNetworks } from './networks.ts';
import { openSocketFile } from './socket-file.ts';

export interface StreamSettings {
  readonly allowForward: readonly string[];
  readonly retainedOutputBytesPerProcess: number;
}

export interface StreamTableOptions {
  readonly audience: ClientAudience;
  readonly inputBudget: InputBudget;
  /** Counts what goes through the streams. */
  readonly bytes: StreamBytes;
  readonly networks: SessionNetworks;
  readonly closedMs: number;
  readonly log: Logger;
  /** The current settings, as a server may reload them. */
  readonly settings: () => StreamSettings;
}

type OpenParams = Params<'net/open'>;

interface Entry {
  readonly params: OpenParams;
  readonly opened: Promise<void>;
  stream?: NetStream;
}

/** The connections of one session to ports, by the ids their client chose. */
export class StreamTable implements AsyncDisposable {
  readonly #options: StreamTableOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #closed: ClosedRetention<NetStream>;
  readonly #ending = new AbortController();

  constructor(options: StreamTableOptions) {
    this.#options = options;
    this.#closed = new ClosedRetention({
      most: { count: portLimits.closedStreams, bytes: portLimits.closedBytes },
      keepMs: options.closedMs,
      answers: () => options.audience.answers(),
      forget: ({ streamId }) => void this.#entries.delete(streamId),
    });
  }

  /**
   * Resolves when the connection is made. The repetition of an open gets the answer of the first. `opening` is called when it is
   * certain that the connection may be made; what it throws refuses it.
   */
  open(params: OpenParams, opening: () => void): Promise<void> {
    const { streamId } = params;
    const earlier = this.#entries.get(streamId);
    if (earlier && isRepetition(earlier.params, params)) return earlier.opened;
    if (earlier) throw new ExecError('invalidRequest', `stream ${streamId} already exists`);
    this.#ending.signal.throwIfAborted();
    if (this.#entries.size - this.#closed.count >= portLimits.streams) {
      throw new ExecError(
        'invalidRequest',
        `at most ${portLimits.streams} streams may be open per session; close one first`,
      );
    }
    const retainedBytes = this.#retainedBytes(params);
    const entry: Entry = { params, opened: this.#open(params, retainedBytes, opening) };
    this.#entries.set(streamId, entry);
    entry.opened.catch(() => this.#entries.delete(streamId)); // the caller gets the error
    return entry.opened;
  }

  #retainedBytes({ windowBytes }: OpenParams): number {
    if (windowBytes == null) return this.#options.settings().retainedOutputBytesPerProcess;
    const most = portLimits.windowBytes;
    if (windowBytes >= 1 && windowBytes <= most) return windowBytes;
    throw new ExecError('invalidParams', `windowBytes must be between 1 and ${most}`);
  }

  async #open(params: OpenParams, retainedBytes: number, opening: () => void): Promise<void> {
    const { streamId, windowBytes } = params;
    const connection = await this.#connect(params, opening);
    const { audience, inputBudget, bytes, log } = this.#options;
    const stream = new NetStream({
      streamId,
      connection,
      audience,
      retainedBytes,
      settledBy: windowBytes == null ? 'delivery' : 'client',
      inputBudget,
      bytes,
      onClosed: () => this.#closed.add(stream),
      onFault: (error) => log.error('stream.lost', { streamId, ...faultFields(error) }),
    });
    this.#entries.get(streamId)!.stream = stream;
    if (this.#ending.signal.aborted) await stream[Symbol.asyncDispose]();
  }

  async #connect(params: OpenParams, opening: () => void): Promise<Connection> {
    const { host, port, path, processId } = params;
    const rules = new ForwardRules(this.#options.settings().allowForward);
    using stop = new Deadline(portLimits.connectMs, this.#ending.signal);
    if (path != null) {
      if (processId != null) throw new ExecError('invalidParams', 'processId selects a network, and a path is in none');
      await using file = await openSocketFile(path, rules);
      opening();
      return await connectFirst([{ path: file.path }], path, stop.signal);
    }
    const asked = { host: host ?? 'localhost', port: port! };
    const network = await networkOf(params, this.#options.networks);
    const endpoints = await endpointsOf(asked, network, rules, stop.signal);
    opening();
    return await connectFirst(endpoints, `${asked.host} port ${asked.port}`, stop.signal, network.namespace);
  }

  /** An open stream, or one that has closed lately. */
  require(streamId: string): NetStream {
    const stream = this.#entries.get(streamId)?.stream;
    if (!stream) throw new ExecError('invalidRequest', `unknown stream id ${streamId}`);
    return stream;
  }

  list(): Result<'net/list'>['streams'] {
    return [...this.#entries.values()].flatMap(({ params, stream }) => {
      if (!stream) return [];
      const { streamId, phase, openedAtMs, nextSeq } = stream;
      const { host, port, path, processId } = params;
      const target = path == null ? { host: host ?? 'localhost', port: port! } : { path };
      return [{ streamId, ...target, ...(processId != null && { processId }), phase, openedAtMs, nextSeq }];
    });
  }

  /** To be called when the client is detached: it can resume the session within `forMs`, and read what it may have missed. */
  detached(forMs: number): void {
    this.#closed.detached(forMs);
  }

  /** To be called when a client is attached again. */
  attached(): void {
    this.#closed.attached();
  }

  /** Closes every stream, and refuses further ones. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new ExecError('invalidRequest', 'the session is being ended'));
    this.#closed[Symbol.dispose]();
    const entries = [...this.#entries.values()];
    await Promise.allSettled(entries.map(({ opened }) => opened));
    await Promise.all(entries.map(({ stream }) => stream?.[Symbol.asyncDispose]()));
    this.#entries.clear();
  }
}

/** Tries one after the other; the error is that of the first. */
async function connectFirst(
  targets: readonly (Endpoint | { readonly path: string })[],
  where: string,
  signal: AbortSignal,
  namespace?: NetworkNamespace,
): Promise<Connection> {
  let failure: ConnectError | undefined;
  for (const target of targets) {
    try {
      return await connect(namespace && 'address' in target ? inside(namespace, target) : target, signal);
    } catch (error) {
      if (!(error instanceof ConnectError)) throw ExecError.from(signal.aborted ? timedOut(where, signal) : error);
      failure ??= error;
    }
  }
  throw cannotConnect(where, failure!);
}

/** The same endpoint, with a socket of another network. */
function inside(namespace: NetworkNamespace, endpoint: Endpoint): Endpoint & { readonly socket: number } {
  try {
    return { ...endpoint, socket: namespace.socket(endpoint.address.length === 4 ? 4 : 6) };
  } catch (cause) {
    throw new ExecError('invalidRequest', 'the network of the process cannot be entered: it has ended', { cause });
  }
}

function timedOut(where: string, { reason }: AbortSignal): unknown {
  if (reason instanceof ExecError) return reason;
  return new ExecError(
    'invalidRequest',
    `cannot connect to ${where}: it did not answer within ${portLimits.connectMs / 1000} s`,
  );
}

/** A client that lost the answer sends the same request with the same `openId`. */
function isRepetition(earlier: OpenParams, params: OpenParams): boolean {
  return params.openId != null && JSON.stringify(earlier) === JSON.stringify(params);
}
