import {
  type Connector,
  ExecServerClient,
  type ExecServerClientConnectOptions,
  RemoteFileSystem,
  type RemoteProcess,
  type StartOptions,
} from '../../../client/index.ts';
import type { EnvironmentInfo, ExecutorFileSystem } from '../../../protocol/index.ts';
import { NetworkQuestions, type NetworkRequestListener } from '../run/network-questions.ts';

/** A running command, wherever it runs. */
export type ExecProcess = RemoteProcess;

export interface BackendStartOptions extends StartOptions {
  /** Decides about hosts that the network settings of the command do not list. */
  readonly onNetworkRequest?: NetworkRequestListener;
}

/** A place where commands run: this machine or another one. */
export interface ExecBackend extends AsyncDisposable {
  /** This machine: any installed shell will do, and a command is over when it exits, whatever its children do. */
  readonly isLocal: boolean;
  /** The variables of this program, where commands run on this machine. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Facts about the place; connects if necessary. */
  info(signal?: AbortSignal): Promise<EnvironmentInfo | undefined>;
  start(options: BackendStartOptions, signal?: AbortSignal): Promise<ExecProcess>;
  fileSystem(): Promise<ExecutorFileSystem>;
}

/**
 * Runs commands on a server. It connects at first use; when a session is lost for good its processes fail, and the
 * next command opens a new one.
 */
export function remoteBackend(connector: Connector, options: ExecServerClientConnectOptions = {}): ExecBackend {
  return new ClientBackend(connector, options);
}

class ClientBackend implements ExecBackend {
  readonly isLocal = false;
  readonly #connector: Connector;
  readonly #options: ExecServerClientConnectOptions;
  readonly #questions: NetworkQuestions;
  #client: Promise<ExecServerClient> | undefined;

  constructor(connector: Connector, options: ExecServerClientConnectOptions) {
    this.#connector = connector;
    this.#questions = new NetworkQuestions(options.onRequest);
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
    const client = await this.#client?.catch(() => undefined); // it never came to be, so there is nothing to close
    await client?.close();
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
