import {
  type Connector,
  ExecServerClient,
  type ExecServerClientConnectOptions,
  RemoteFileSystem,
  type RemoteProcess,
  type StartOptions,
} from '../../../client/index.ts';
import type { EnvironmentInfo, ExecutorFileSystem } from '../../../protocol/index.ts';
import { NetworkQuestionRouter, type NetworkRequestListener } from './network-questions.ts';

/** A running command, on this machine or another one. */
export type ExecProcess = RemoteProcess;

export interface BackendStartOptions extends StartOptions {
  /** Decides about hosts that the network settings of the command do not list. */
  readonly onNetworkRequest?: NetworkRequestListener;
}

/** Runs commands, on this machine or another one. */
export interface ExecBackend extends AsyncDisposable {
  /** On this machine any installed shell can be used, and a command is over when it exits, whatever its children do. */
  readonly isLocal: boolean;
  /** The variables of this program; undefined for another machine. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Facts about the machine; connects if necessary. */
  info(signal?: AbortSignal): Promise<EnvironmentInfo | undefined>;
  start(options: BackendStartOptions, signal?: AbortSignal): Promise<ExecProcess>;
  fileSystem(): Promise<ExecutorFileSystem>;
}

/**
 * Runs commands on a server. It connects at first use; when the session is lost for good its processes fail, and the next
 * command opens a new one.
 */
export function remoteBackend(connector: Connector, options: ExecServerClientConnectOptions = {}): ExecBackend {
  return new ClientBackend({ connector, options, isLocal: false });
}

interface ClientBackendOptions {
  readonly connector: Connector;
  readonly options?: ExecServerClientConnectOptions;
  readonly isLocal: boolean;
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Disposed of with the backend, after its client: the server on the other end. */
  readonly server?: AsyncDisposable;
}

/** Runs commands through a client that connects at first use. */
export class ClientBackend implements ExecBackend {
  readonly isLocal: boolean;
  readonly variables?: Readonly<Record<string, string | undefined>>;
  readonly #connector: Connector;
  readonly #options: ExecServerClientConnectOptions;
  readonly #questions: NetworkQuestionRouter;
  readonly #server: AsyncDisposable | undefined;
  #client: Promise<ExecServerClient> | undefined;

  constructor({ connector, options = {}, isLocal, variables, server }: ClientBackendOptions) {
    this.isLocal = isLocal;
    if (variables) this.variables = variables;
    this.#server = server;
    this.#connector = connector;
    this.#questions = new NetworkQuestionRouter(options.onRequest);
    this.#options = { ...options, onRequest: this.#questions.answer };
  }

  async info(): Promise<EnvironmentInfo | undefined> {
    return (await this.#connected()).environmentInfo;
  }

  async start(options: BackendStartOptions, signal?: AbortSignal): Promise<ExecProcess> {
    const { onNetworkRequest, ...start } = options;
    const client = await this.#connected();
    if (!onNetworkRequest) return client.start(start, signal);
    const processId = start.processId ?? crypto.randomUUID();
    return this.#questions.during(processId, onNetworkRequest, client.start({ ...start, processId }, signal));
  }

  async fileSystem(): Promise<ExecutorFileSystem> {
    return new RemoteFileSystem(await this.#connected());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = await this.#client?.catch(() => undefined); // without a connection there is nothing to close
    await client?.close();
    await this.#server?.[Symbol.asyncDispose]();
  }

  #connected(): Promise<ExecServerClient> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<ExecServerClient> {
    try {
      const client = await ExecServerClient.connect(this.#connector, this.#options);
      void client.closed.then(() => this.#forget());
      return client;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    this.#client = undefined;
  }
}
