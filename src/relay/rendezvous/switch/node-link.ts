import type { Address, Bus } from '../cluster/bus.ts';
import { type ControlMessage, encodeControl } from './control-message.ts';

/**
 * The link between the nodes of a harness connection and of an environment socket, as either node has it. Both count the frames they
 * sent and compare the counts regularly, so a loss is noticed even if no frame follows the lost one.
 */
export class NodeLink {
  readonly local: Address;
  readonly peer: Address;
  readonly #bus: Bus;
  #sent = 0;
  #received = 0;
  #heardAt: number;
  #comparedAt: number;

  constructor(bus: Bus, local: Address, peer: Address, now: number) {
    this.#bus = bus;
    this.local = local;
    this.peer = peer;
    this.#heardAt = now;
    this.#comparedAt = now;
  }

  /** Both ends are on different nodes, so messages can be lost between them. */
  get isRemote(): boolean {
    return this.peer.node !== this.#bus.node;
  }

  /** When the last message of the peer arrived. */
  get heardAt(): number {
    return this.#heardAt;
  }

  sendFrame(frame: Uint8Array): void {
    this.#sent++;
    this.#bus.send(this.peer, frame, this.local);
  }

  sendControl(message: ControlMessage): void {
    this.#bus.send(this.peer, encodeControl(message), this.local);
  }

  countReceived(): void {
    this.#received++;
  }

  heard(now: number): void {
    this.#heardAt = now;
  }

  /** Tells the peer how many frames it should have received. */
  sendCount(now: number): void {
    this.#comparedAt = now;
    this.sendControl({ type: 'pulse', sent: this.#sent });
  }

  countIsDue(now: number, everyMs: number): boolean {
    return this.isRemote && now - this.#comparedAt >= everyMs;
  }

  /** Whether fewer frames have arrived than the `sent` that the peer has counted. */
  misses(sent: number): boolean {
    const missing = this.#received !== sent;
    this.#received = sent;
    return missing;
  }
}
