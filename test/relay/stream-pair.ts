import { randomBytes } from 'node:crypto';
import { decodeFrame } from '../../src/relay/index.ts';
import { PlainRecords } from '../../src/relay/stream/plain-records.ts';
import { RecordOpener, RecordSealer } from '../../src/relay/stream/record-cipher.ts';
import type { Records } from '../../src/relay/stream/records.ts';
import { RelayStream, type RelayStreamOptions } from '../../src/relay/stream/relay-stream.ts';
import { SealedRecords } from '../../src/relay/stream/sealed-records.ts';
import { FakeClock, settled } from './fake-clock.ts';
import { type FrameFault, HostileNetwork } from './hostile-network.ts';
import { type MemoryTransport, transportPair } from './memory-transport.ts';

/** One end of a stream, and what became of it. */
export interface StreamEnd {
  readonly stream: RelayStream;
  readonly transport: MemoryTransport;
  readonly received: Buffer[];
  /** Numbers of the messages known to have arrived at the other end. */
  readonly delivered: number[];
  readonly ended: string[];
}

export interface StreamPairOptions {
  readonly reliable: boolean;
  /** Whether messages travel in the clear, as on the plain relay. */
  readonly isPlain?: boolean;
  /** Whether the harness has heard that the environment agrees. */
  readonly isAgreed?: boolean;
  /** What happens to frames on the way to the environment, and back. */
  readonly forth?: readonly FrameFault[];
  readonly back?: readonly FrameFault[];
}

/** A harness's and an environment's end of one stream, past the handshake, with a network that may be hostile. */
export class StreamPair {
  readonly clock = new FakeClock();
  readonly harness: StreamEnd;
  readonly environment: StreamEnd;
  readonly #networks: readonly HostileNetwork[];

  constructor({ reliable, isPlain = false, isAgreed = reliable, forth = [], back = [] }: StreamPairOptions) {
    const keys = [randomBytes(32), randomBytes(32)] as const;
    this.#networks = [new HostileNetwork(forth), new HostileNetwork(back)];
    const [left, right] = transportPair(this.#networks[0]!.carry, this.#networks[1]!.carry);
    const records = (own: Uint8Array, peer: Uint8Array): Records => {
      const ciphers = { sealer: new RecordSealer(own), opener: new RecordOpener(peer), hash: own };
      return isPlain ? new PlainRecords() : new SealedRecords(ciphers, reliable ? 245_760 : 61_440);
    };
    this.harness = this.#end(left, true, {
      records: records(keys[0], keys[1]),
      delivery: reliable ? 'offered' : 'unacknowledged',
    });
    this.environment = this.#end(right, false, {
      records: records(keys[1], keys[0]),
      delivery: reliable ? 'acknowledged' : 'unacknowledged',
    });
    if (isAgreed) void this.harness.stream.receive({ streamId: 's', body: { type: 'heartbeat' } });
  }

  /** Goes on, through all the time it takes, until something is true or `forMs` have passed. */
  async runUntil(isTrue: () => boolean, forMs = 300_000): Promise<boolean> {
    const until = this.clock.now() + forMs;
    for (let turns = 0; ; turns++) {
      if (turns > 100_000) throw new Error('the two ends keep each other busy for ever');
      await settled();
      if (isTrue()) return true;
      const released = this.#networks.map((network) => network.release()).some(Boolean);
      if (!released && !this.clock.step(until)) return false;
    }
  }

  /** One end loses its connection and finds another. */
  replaceConnection({ stream, transport }: StreamEnd): void {
    stream.suspend('cut off');
    stream.attach(transport);
  }

  #end(
    transport: MemoryTransport,
    ownsTransport: boolean,
    options: Pick<RelayStreamOptions, 'records' | 'delivery'>,
  ): StreamEnd {
    const ended: string[] = [];
    const received: Buffer[] = [];
    const stream = new RelayStream({
      streamId: 's',
      transport,
      ownsTransport,
      clock: this.clock,
      onEnd: (reason) => void ended.push(reason),
      ...options,
    });
    stream.open((message) => void received.push(Buffer.from(message)));
    transport.open((bytes) => {
      let frame: ReturnType<typeof decodeFrame>;
      try {
        frame = decodeFrame(bytes, { segments: true });
      } catch (error) {
        // An environment overlooks what is no frame; to a harness it is the end.
        if (ownsTransport) stream.fail((error as Error).message);
        return;
      }
      if (frame.streamId === 's') return stream.receive(frame);
    });
    return { stream, transport, received, delivered: [], ended };
  }
}

/** Sends messages from one end and notes which are confirmed. */
export function sendAll({ stream, delivered }: StreamEnd, messages: readonly Uint8Array[]): void {
  for (const [at, message] of messages.entries()) void stream.send(message, () => void delivered.push(at));
}
