import { readEnvelope } from '../../index.ts';
import { isStreamId } from '../api/identifiers.ts';
import type { Address } from '../cluster/bus.ts';
import type { Registration } from '../cluster/directory.ts';
import { type AttachedHarness, AttachedHarnesses } from './attached-harnesses.ts';
import { type ControlMessage, decodeControl, encodeControl, isControl } from './control-message.ts';
import { EndpointSocket } from './endpoint-socket.ts';
import { EnvironmentStreams } from './environment-streams.ts';
import { type Closing, closings, type FrameSocket, type SocketOwner } from './frame-socket.ts';
import { environmentPlace } from './places.ts';
import type { SwitchContext } from './switch-context.ts';

export interface EnvironmentFacts {
  readonly environmentId: string;
  readonly registrationId: string;
  readonly epoch: number;
}

/** One environment socket at its node: passes frames between the WebSocket and the nodes of its harnesses. */
export class EnvironmentSocket implements SocketOwner {
  readonly facts: EnvironmentFacts;
  readonly #context: SwitchContext;
  readonly #socket = new EndpointSocket();
  readonly #streams: EnvironmentStreams;
  readonly #harnesses: AttachedHarnesses;
  readonly #onEnded: () => void;

  constructor(context: SwitchContext, facts: EnvironmentFacts, onEnded: () => void) {
    this.#context = context;
    this.facts = facts;
    this.#streams = new EnvironmentStreams(context, this.#socket);
    this.#harnesses = new AttachedHarnesses(context, this.#streams);
    this.#onEnded = onEnded;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  attach(socket: FrameSocket): void {
    this.#socket.open(socket);
  }

  /** A message of the environment. */
  receive(frame: Uint8Array): void {
    const envelope = isControl(frame) ? undefined : readEnvelope(frame);
    if (envelope && isStreamId(envelope.streamId)) this.#streams.receive(envelope, frame);
    else this.#context.metrics.add('rendezvous_invalid_frames_total', { role: 'environment' });
  }

  /** A message from the node of a harness. */
  received(connectionId: string, payload: Uint8Array, from: Address): void {
    const message = isControl(payload) ? decodeControl(payload) : undefined;
    if (message?.type === 'open') return void this.#open(connectionId, message, from);
    const harness = this.#harnesses.get(connectionId);
    if (!harness || harness.link.peer.node !== from.node) {
      if (message?.type !== 'gone') this.#sendGone(connectionId, from);
      return;
    }
    harness.link.heard(this.#context.now());
    if (message) this.#control(harness, message);
    else this.#streams.receiveFrom(harness, payload);
  }

  async #open(connectionId: string, message: ControlMessage & { type: 'open' }, from: Address): Promise<void> {
    const attached = await this.#harnesses.open(connectionId, message, this.#local(connectionId), from);
    if (!attached) this.#sendGone(connectionId, from);
  }

  #sendGone(connectionId: string, to: Address): void {
    this.#context.bus.send(to, encodeControl({ type: 'gone' }), this.#local(connectionId));
  }

  #local(connectionId: string): Address {
    const { environmentId, epoch } = this.facts;
    return { node: this.#context.bus.node, place: environmentPlace(environmentId, epoch, connectionId) };
  }

  #control(harness: AttachedHarness, message: ControlMessage): void {
    if (message.type === 'gone') this.#harnesses.lost(harness);
    if (message.type === 'credit') this.#streams.credit(harness, message.stream, message.bytes);
    if (message.type === 'lost') this.#streams.resetWindows(harness);
    if (message.type === 'pulse' && harness.link.misses(message.sent)) {
      harness.link.sendControl({ type: 'lost' });
      this.#streams.framesLost(harness);
    }
  }

  /** The node of a harness is gone. */
  harnessLost(connectionId: string): void {
    const harness = this.#harnesses.get(connectionId);
    if (harness) this.#harnesses.lost(harness);
  }

  registrationChanged(registration: Registration | undefined): void {
    const { registrationId, epoch } = this.facts;
    const isCurrent =
      registration?.registrationId === registrationId &&
      registration.epoch === epoch &&
      registration.node === this.#context.bus.node;
    if (!isCurrent) this.#close(registration ? closings.replaced : closings.removed);
  }

  tick(now: number): void {
    this.#streams.tick(now);
    this.#harnesses.tick(now);
  }

  /** Finds out whether the peer of the socket is still there. */
  probe(): void {
    this.#socket.probe();
  }

  compareCounts(): void {
    this.#harnesses.compareCounts();
  }

  /** The WebSocket is gone. */
  ended(): void {
    if (this.#socket.ended()) this.#release();
  }

  /** The service stops. */
  goAway(): void {
    this.#close(closings.goingAway);
  }

  #close(closing: Closing): void {
    if (this.#socket.close(closing)) this.#release();
  }

  #release(): void {
    this.#streams.clear();
    this.#onEnded();
    this.#harnesses.close();
  }
}
