import { type Clock, Deadline, systemClock } from '../../base/index.ts';
import type { Connector } from '../../client/index.ts';
import { Outgoing } from '../../host/http/index.ts';
import { ExecError } from '../../protocol/index.ts';
import type { Link } from '../../rpc/index.ts';
import {
  type FrameTransport,
  generateRelayKeys,
  keyFingerprint,
  openHarnessStream,
  publicKeyObject,
} from '../index.ts';
import { harnessDelayMs } from './backoff.ts';
import type { Credentials } from './credentials.ts';
import { UpgradeRefused } from './open-websocket.ts';
import { type ConnectionBundle, RegistryClient } from './registry-client.ts';
import { RegistryError } from './registry-error.ts';
import { parseEnvironmentId, parseRegistryUrl } from './registry-url.ts';
import { openRendezvousSocket, type RendezvousSocketOptions } from './rendezvous-socket.ts';

/** How a harness reaches an environment by its id. */
export interface RemoteExecServerConnectArgs {
  /** Base URL of the registry. */
  readonly registryUrl: string;
  readonly environmentId: string;
  readonly credentials: Credentials;
  /** Whether to offer acknowledged delivery; a peer that does not know it ignores the offer. */
  readonly reliable?: boolean;
  /** Proxies and certificates for the registry and its rendezvous; by default no proxies and the system's certificates. */
  readonly outgoing?: Outgoing;
  readonly clock?: Clock;
  /** Called with the reason when the environment cannot be reached now and is tried again. */
  readonly onWaiting?: ((reason: Error) => void) | undefined;
}

/** Connects to an environment through the rendezvous its registry names, with a fresh bundle for every connection. */
export function viaRegistry(args: RemoteExecServerConnectArgs): Connector {
  const route = new RegistryRoute(args);
  return (signal, resuming = false) => route.connect(signal, resuming);
}

const RETRIES = 4;
const REQUEST_TIMEOUT_MS = 6000;
/** No attempt is begun after this time. */
const ATTEMPTS_MS = 14_000;

/** Connects to one environment, with the same keys for as long as the process lives. */
class RegistryRoute {
  readonly #environmentId: string;
  readonly #registry: RegistryClient;
  readonly #socket: RendezvousSocketOptions;
  readonly #keys = generateRelayKeys();
  readonly #reliable: boolean;
  readonly #clock: Clock;
  readonly #onWaiting: RemoteExecServerConnectArgs['onWaiting'];
  /** Fingerprint of the executor that answered last. */
  #executor: string | undefined;

  constructor(args: RemoteExecServerConnectArgs) {
    const { credentials, outgoing = Outgoing.direct } = args;
    this.#environmentId = parseEnvironmentId(args.environmentId);
    this.#registry = new RegistryClient(parseRegistryUrl(args.registryUrl), this.#environmentId, credentials, outgoing);
    this.#socket = { onText: 'disconnect', outgoing };
    this.#reliable = args.reliable ?? true;
    this.#clock = args.clock ?? systemClock;
    this.#onWaiting = args.onWaiting;
  }

  async connect(signal: AbortSignal, resuming: boolean): Promise<Link> {
    using deadline = new Deadline(ATTEMPTS_MS, signal);
    let staleBundles = 0;
    for (let retries = 0; ; retries++) {
      try {
        return await this.#attempt(signal, resuming);
      } catch (error) {
        signal.throwIfAborted();
        if (!isWorthRetrying(error)) throw new ExecError('invalidRequest', (error as Error).message, { cause: error });
        if (error instanceof UpgradeRefused && error.status === 401 && staleBundles++ === 0) continue;
        if (retries === RETRIES || deadline.signal.aborted) throw error;
        this.#onWaiting?.(error as Error);
        await this.#clock.sleep(harnessDelayMs(retries, this.#clock), deadline.signal);
        if (deadline.signal.aborted) throw error;
      }
    }
  }

  async #attempt(signal: AbortSignal, resuming: boolean): Promise<Link> {
    const { url, registrationId, executorKey, authorization } = await this.#bundle(signal);
    const executor = keyFingerprint(executorKey);
    if (resuming) this.#requireSame(executor);
    const link = await openHarnessStream(await openRendezvousSocket(url, this.#socket, signal), {
      keys: this.#keys,
      environmentId: this.#environmentId,
      registrationId,
      executorKey,
      authorization,
      reliable: this.#reliable,
      reattach: (stop) => this.#reattach(registrationId, link, stop),
      signal,
    });
    this.#executor = executor;
    return link;
  }

  #bundle(signal: AbortSignal): Promise<ConnectionBundle> {
    return this.#registry.connect(publicKeyObject(this.#keys), signal, REQUEST_TIMEOUT_MS);
  }

  /**
   * Opens another connection to the environment of a stream that lost its own; tries until the stream is given up. The timer of the
   * pause also keeps a program alive that has nothing else to wait for.
   */
  async #reattach(registrationId: string, link: Link, signal: AbortSignal): Promise<FrameTransport> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#openFor(registrationId, signal);
      } catch (error) {
        if (!isWorthRetrying(error)) link.destroy(); // the client then resumes its session on another stream
        if (signal.aborted || !isWorthRetrying(error)) throw error;
      }
      await this.#clock.sleep(harnessDelayMs(attempt, this.#clock), signal);
    }
  }

  async #openFor(registrationId: string, signal: AbortSignal): Promise<FrameTransport> {
    signal.throwIfAborted();
    const bundle = await this.#bundle(signal);
    if (bundle.registrationId === registrationId) return await openRendezvousSocket(bundle.url, this.#socket, signal);
    throw new ExecError('invalidRequest', 'the environment has registered again, and its streams are gone');
  }

  /** Throws if the key has changed: that is another executor, which cannot have the session. */
  #requireSame(executor: string): void {
    if (this.#executor === executor) return;
    throw new ExecError('invalidRequest', 'executor key changed during session recovery');
  }
}

/** False for final refusals; after any other failure the environment may come back soon. */
function isWorthRetrying(error: unknown): boolean {
  if (error instanceof ExecError) return false;
  if (error instanceof RegistryError) return error.isTransient || error.code === 'environment_offline';
  return true;
}
