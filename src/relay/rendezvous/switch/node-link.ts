import type { Address, Bus } from '../cluster/bus.ts';
import { type ControlMessage, encodeControl } from './control-message.ts';

/**
 * One harness connection and one environment socket, seen from the node of either. Counting what was sent and comparing
 * now and then turns a loss on the way into a fact, also when nothing follows the lost frame.
 */
export class NodeLink {
  readonly here: Address;
  readonly there: Address;
  readonly #bus: Bus;
  #sent = 0;
  #received = 0;
  #heardAt: number;
  #pulsedAt: number;

  constructor(bus: Bus, here: Address, there: Address, now: number) {
    this.#bus = bus;
    this.here = here;
    this.there = there;
    this.#heardAt = now;
    this.#pulsedAt = now;
  }

  /** Between two nodes, where things can be lost. */
  get isRemote(): boolean {
    return this.there.node !== this.#bus.node;
  }

  get heardAt(): number {
    return this.#heardAt;
  }

  sendFrame(frame: Uint8Array): void {
    this.#sent++;
    this.#bus.send(this.there, frame, this.here);
  }

  tell(message: ControlMessage): void {
    this.#bus.send(this.there, encodeControl(message), this.here);
  }

  frameReceived(): void {
    this.#received++;
  }

  heard(now: number): void {
    this.#heardAt = now;
  }

  pulse(now: number): void {
    this.#pulsedAt = now;
    this.tell({ type: 'pulse', sent: this.#sent });
  }

  pulseIsDue(now: number, everyMs: number): boolean {
    return this.isRemote && now - this.#pulsedAt >= everyMs;
  }

  /** Compares counts with the other end; true if frames are missing. */
  misses(sent: number): boolean {
    const missing = this.#received !== sent;
    this.#received = sent;
    return missing;
  }
}
