import {
  type Connector,
  ExecServerClient,
  type ExecServerClientConnectOptions,
  type RemoteProcess,
  type StartOptions,
} from '../client/index.ts';
import type { EnvironmentInfo } from '../protocol/index.ts';

/** A running command, wherever it runs. */
export type ExecProcess = RemoteProcess;

/** A place where commands run: this machine or another one. */
export interface ExecBackend extends AsyncDisposable {
  /** Facts about the place; connects if necessary. */
  info(signal?: AbortSignal): Promise<EnvironmentInfo | undefined>;
  start(options: StartOptions, signal?: AbortSignal): Promise<ExecProcess>;
}

/**
 * Runs commands on a server. It connects at first use; when a session is lost for good its processes fail, and the
 * next command opens a new one.
 */
export function remoteBackend(connector: Connector, options: ExecServerClientConnectOptions = {}): ExecBackend {
  return new ClientBackend(connector, options);
}

class ClientBackend implements ExecBackend {
  readonly #connector: Connector;
  readonly #options: ExecServerClientConnectOptions;
  #client: Promise<ExecServerClient> | undefined;

  constructor(connector: Connector, options: ExecServerClientConnectOptions) {
    this.#connector = connector;
    this.#options = options;
  }

  async info(): Promise<EnvironmentInfo | undefined> {
    return (await this.#connected()).environmentInfo;
  }

  async start(options: StartOptions, signal?: AbortSignal): Promise<ExecProcess> {
    return (await this.#connected()).start(options, signal);
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
