import {
  Changes,
  type Clock,
  type LogFields,
  type Logger,
  Scope,
  silentLogger,
  systemClock,
} from '../../src/base/index.ts';
import { ExecServerClient, type ExecServerClientConnectOptions } from '../../src/client/index.ts';
import {
  bearerToken,
  type RemoteEnvironmentConfig,
  type RemoteExecServerConnectArgs,
  runRemoteEnvironment,
  viaRegistry,
} from '../../src/relay/remote/index.ts';
import { openConnectionPoint } from '../../src/server/index.ts';
import { testHost } from './host.ts';
import type { ScriptedRegistry } from './scripted-registry.ts';

/** A clock on which waiting takes no time; it keeps the waits. */
export class InstantClock implements Clock {
  readonly waits: number[] = [];
  readonly #changes = new Changes();
  #now = 0;

  now(): number {
    return this.#now;
  }

  random(): number {
    return 0;
  }

  readonly after = systemClock.after;

  pass(ms: number): void {
    this.#now += ms;
  }

  async sleep(ms: number): Promise<void> {
    this.waits.push(ms);
    this.#now += ms;
    this.#changes.notify();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Resolves when so many waits have begun. */
  async untilWaited(times: number): Promise<void> {
    while (this.waits.length < times) await this.#changes.next();
  }
}

/** Keeps what is logged, in the form it would be written. */
export function recordingLogger(lines: string[], base: LogFields = {}): Logger {
  const log = (event: string, fields?: LogFields): void => {
    lines.push(JSON.stringify({ event, ...base, ...fields }));
  };
  return { debug: log, info: log, warn: log, error: log, with: (more) => recordingLogger(lines, { ...base, ...more }) };
}

/** An environment of our own in this process, registered as `env`. */
export class TestEnvironment implements AsyncDisposable {
  readonly clock = new InstantClock();
  readonly log: string[] = [];
  /** Settles when it stops, with the reason if it failed. */
  readonly ended: Promise<Error | undefined>;
  readonly #scope = new Scope();
  readonly #stop = new AbortController();

  constructor(
    registry: { readonly url: string },
    config: Partial<RemoteEnvironmentConfig> = {},
    run: typeof runRemoteEnvironment = runRemoteEnvironment,
  ) {
    const point = openConnectionPoint({ host: testHost(), log: silentLogger });
    this.#scope.defer(async () => (await point)[Symbol.asyncDispose]());
    const running = run(
      {
        registryUrl: registry.url,
        environmentId: 'env',
        credentials: bearerToken('executor-token'),
        accept: (link) => void point.then((server) => server.connect(link, { resumable: true })),
        clock: this.clock,
        log: recordingLogger(this.log),
        ...config,
      },
      this.#stop.signal,
    );
    this.ended = running.then(
      () => undefined,
      (error: Error) => error,
    );
    this.#scope.defer(async () => {
      this.#stop.abort();
      await this.ended;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope[Symbol.asyncDispose]();
  }
}

/** A harness that looks for `env`. */
export function connectHarness(
  registry: ScriptedRegistry,
  args: Partial<RemoteExecServerConnectArgs> = {},
  options: ExecServerClientConnectOptions = {},
): Promise<ExecServerClient> {
  const credentials = bearerToken('harness-token', 'account-1');
  const route = viaRegistry({ registryUrl: registry.url, environmentId: 'env', credentials, ...args });
  return ExecServerClient.connect(route, options);
}
