import { type FrameTransport, readEnvelope } from '../../src/relay/index.ts';
import { type Carrier, type MemoryTransport, transportPair } from './memory-transport.ts';

/** Moves frames between one environment and many harnesses. A stream belongs to the harness that used it last. */
export class MemoryRendezvous {
  readonly #owners = new Map<string, MemoryTransport>();
  #environment: MemoryTransport | undefined;

  /** The environment's end of a new connection, which replaces the one before. */
  connectEnvironment(): MemoryTransport {
    const [outer, inner] = transportPair();
    inner.open((frame) => {
      const owner = this.#owners.get(readEnvelope(frame)?.streamId ?? '');
      void owner?.send(frame);
    });
    this.#environment = inner;
    return outer;
  }

  /** A harness's end of a new connection; a carrier may interfere with either direction. */
  connectHarness(forth?: Carrier, back?: Carrier): MemoryTransport {
    const [outer, inner] = transportPair(forth, back);
    inner.open((frame) => {
      this.#owners.set(readEnvelope(frame)?.streamId ?? '', inner);
      void (this.#environment as FrameTransport | undefined)?.send(frame);
    });
    return outer;
  }
}
