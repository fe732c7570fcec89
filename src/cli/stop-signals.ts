import { constants } from 'node:os';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The first signal asks for an orderly end. A later signal exits at once, and so does an orderly end that takes too long. */
export class StopSignals implements Disposable {
  readonly #controller = new AbortController();
  readonly #listeners = names.map((name) => ({ name, listener: () => this.#received(name) }));
  #exitCode: number | undefined;
  #receivedAt = 0;
  #deadline: NodeJS.Timeout | undefined;

  constructor() {
    for (const { name, listener } of this.#listeners) process.on(name, listener);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code that shells report for the received signal. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#deadline);
    if (this.#exitCode !== undefined) return; // listens on: the process ends with that code even if the signal comes again
    for (const { name, listener } of this.#listeners) process.off(name, listener);
  }

  #received(name: (typeof names)[number]): void {
    const code = 128 + constants.signals[name];
    const now = performance.now();
    if (this.#exitCode !== undefined) {
      if (now - this.#receivedAt > ECHO_MS) process.exit(code);
      return;
    }
    this.#receivedAt = now;
    this.#exitCode = code;
    this.#deadline = setTimeout(() => process.exit(code), ORDERLY_MS).unref();
    this.#controller.abort(new Error(`stopped by ${name}`));
  }
}

const ORDERLY_MS = 10_000;

/** `npx` and `timeout` pass on a signal that the terminal has sent to this process as well: one Ctrl-C comes twice. */
const ECHO_MS = 500;
