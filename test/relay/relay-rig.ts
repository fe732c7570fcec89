import type { LogFields, Logger } from '../../src/base/index.ts';
import {
  type EncryptedEnvironmentOptions,
  EncryptedEnvironmentStreams,
  generateRelayKeys,
  type HarnessStreamOptions,
  openHarnessStream,
  publicKeyObject,
  type StreamFacts,
} from '../../src/relay/index.ts';
import type { Link } from '../../src/rpc/index.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryRendezvous } from './memory-rendezvous.ts';
import type { MemoryTransport } from './memory-transport.ts';

/** Making keys takes a while, and no test depends on their being new. */
export const executorKeys = generateRelayKeys();
export const harnessKeys = generateRelayKeys();

export const harnessOptions: HarnessStreamOptions = {
  keys: harnessKeys,
  environmentId: 'env-1',
  registrationId: 'registration-1',
  executorKey: publicKeyObject(executorKeys),
  authorization: 'let me in',
  signal: new AbortController().signal,
};

/** An environment that echoes, and a rendezvous to reach it by. */
export class RelayRig {
  readonly clock = new FakeClock();
  readonly rendezvous = new MemoryRendezvous();
  readonly accepted: { readonly link: Link; readonly facts: StreamFacts }[] = [];
  /** Names of log events with the reasons they give. */
  readonly events: string[] = [];
  readonly streams: EncryptedEnvironmentStreams;
  environment: MemoryTransport;

  constructor(options: Partial<EncryptedEnvironmentOptions> = {}) {
    this.streams = new EncryptedEnvironmentStreams({
      keys: executorKeys,
      environmentId: 'env-1',
      registrationId: 'registration-1',
      validate: async (_key, authorization) => authorization === 'let me in',
      accept: (link, facts) => {
        this.accepted.push({ link, facts });
        link.open((message) => link.send(message));
      },
      log: this.#logger(),
      clock: this.clock,
      ...options,
    });
    this.environment = this.reconnectEnvironment();
  }

  reconnectEnvironment(): MemoryTransport {
    this.environment = this.rendezvous.connectEnvironment();
    this.streams.attach(this.environment);
    return this.environment;
  }

  async openHarness(options: Partial<HarnessStreamOptions> = {}, transport = this.rendezvous.connectHarness()) {
    const link = await openHarnessStream(transport, { ...harnessOptions, clock: this.clock, ...options });
    const received: string[] = [];
    link.open((message) => void received.push(Buffer.from(message).toString()));
    return { link, transport, received };
  }

  #logger(): Logger {
    const note = (event: string, fields?: LogFields): void => {
      this.events.push(fields?.reason === undefined ? event : `${event}: ${fields.reason}`);
    };
    const logger: Logger = { debug: note, info: note, warn: note, error: note, with: () => logger };
    return logger;
  }
}

/** Waits, without time passing, until a condition is true. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; !isTrue(); turn++) {
    if (turn > 10_000) throw new Error('it does not become true');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
