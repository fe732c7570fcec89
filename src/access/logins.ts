import type { Grant } from './grant.ts';
import { Login } from './login.ts';

/** The logins of a server whose connections are open. */
export class Logins implements Disposable {
  readonly #open = new Set<Login>();
  readonly #now: () => number;
  #clock: NodeJS.Timeout | undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** A login that lasts until it is closed; `granted` as for `Login`. */
  open(granted: () => Grant | undefined): Login {
    const login = new Login(granted, this.#now);
    this.#open.add(login);
    this.#watch();
    return login;
  }

  close(login: Login): void {
    this.#open.delete(login);
    this.#watch();
  }

  /** To be called when other tokens are in force. */
  review(): void {
    for (const login of this.#open) login.review();
    this.#watch();
  }

  [Symbol.dispose](): void {
    this.#open.clear();
    this.#watch();
  }

  /** Looks at the time of day while a login can expire. A timer until then would not notice that the clock is set. */
  #watch(): void {
    const isNeeded = [...this.#open].some(({ expires }) => expires);
    if (isNeeded) this.#clock ??= setInterval(() => this.review(), EXPIRY_CHECK_MS).unref();
    if (isNeeded) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }
}

/** Connections end within a second of the expiry of their token. */
const EXPIRY_CHECK_MS = 250;
