import { type Deferred, deferred } from '../../../base/index.ts';
import { randomId } from '../api/identifiers.ts';
import type { Address, Bus } from '../cluster/bus.ts';
import { encodeControl } from './control-message.ts';
import { queryPlace } from './places.ts';

/** Asks other nodes whether they have a socket. */
export class PresenceQueries {
  readonly #bus: Bus;
  readonly #timeoutMs: number;
  readonly #open = new Map<string, Deferred<boolean>>();

  constructor(bus: Bus, timeoutMs: number) {
    this.#bus = bus;
    this.#timeoutMs = timeoutMs;
  }

  /** No answer in time means no. */
  async ask(address: Address): Promise<boolean> {
    const id = randomId();
    const answer = deferred<boolean>();
    this.#open.set(id, answer);
    const timer = setTimeout(() => answer.resolve(false), this.#timeoutMs);
    this.#bus.send(address, encodeControl({ type: 'ask' }), { node: this.#bus.node, place: queryPlace(id) });
    const isPresent = await answer.promise;
    clearTimeout(timer);
    this.#open.delete(id);
    return isPresent;
  }

  answered(id: string, isPresent: boolean): void {
    this.#open.get(id)?.resolve(isPresent);
  }
}
