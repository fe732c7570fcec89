import type { Clock, Logger } from '../../base/index.ts';
import { Backoff } from './backoff.ts';
import { UpgradeRefused } from './open-websocket.ts';
import { isTransient, registerPersistently } from './registration-attempts.ts';

/** A registration that the registry has accepted. */
export interface ActiveRegistration extends AsyncDisposable {
  /** Whether it can be used for another connection when one has ended. */
  readonly isReusable: boolean;
  /** Opens a connection and resolves when it is over; rejects if it could not be opened. */
  connect(signal: AbortSignal): Promise<void>;
}

export interface ConnectionKeeperOptions {
  readonly register: (signal: AbortSignal) => Promise<ActiveRegistration>;
  /** How long the first registration may take; without a limit it is tried for ever. */
  readonly registerTimeoutMs?: number | undefined;
  readonly onRegistered?: (() => void) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Keeps an environment registered and connected until the signal aborts. */
export class ConnectionKeeper {
  readonly #options: ConnectionKeeperOptions;
  readonly #backoff: Backoff;

  constructor(options: ConnectionKeeperOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.clock);
  }

  /** Rejects only if the first registration fails for good. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#keep(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, registerTimeoutMs } = this.#options;
    let registered = await this.#register(isTransient, signal, registerTimeoutMs);
    for (;;) {
      await this.#connectUntilUnknown(registered, signal);
      if (signal.aborted) return;
      // A registry that has restarted may refuse for a while; that must not end an environment that it accepted before.
      registered = await this.#register(() => true, signal);
      await clock.sleep(this.#backoff.nextMs(), signal);
    }
  }

  async #register(isWorthRetrying: (error: unknown) => boolean, signal: AbortSignal, timeoutMs?: number) {
    const { register, onRegistered, clock, log } = this.#options;
    const registered = await registerPersistently({ register, isWorthRetrying, timeoutMs, clock, log }, signal);
    log.info('environment.registered');
    onRegistered?.();
    return registered;
  }

  /** Connects again and again under one registration, as long as the other side knows it. */
  async #connectUntilUnknown(registered: ActiveRegistration, signal: AbortSignal): Promise<void> {
    await using _registered = registered;
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      const since = clock.now();
      try {
        await registered.connect(signal);
        this.#backoff.lasted(clock.now() - since);
      } catch (error) {
        if (signal.aborted) return;
        log.warn('rendezvous.connection_failed', { error: (error as Error).message });
        if (error instanceof UpgradeRefused && error.status >= 400 && error.status < 500) return;
      }
      if (!registered.isReusable) return;
      await clock.sleep(this.#backoff.nextMs(), signal);
    }
  }
}
