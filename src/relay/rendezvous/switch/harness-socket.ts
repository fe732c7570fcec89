import { readEnvelope } from '../../index.ts';
import { isStreamId } from '../api/identifiers.ts';
import { type Address, isSameAddress } from '../cluster/bus.ts';
import type { Registration } from '../cluster/directory.ts';
import type { SocketGrant } from '../trust/socket-url.ts';
import { type ControlMessage, decodeControl, isControl } from './control-message.ts';
import { EndpointSocket } from './endpoint-socket.ts';
import { EnvironmentJoin } from './environment-join.ts';
import { type Closing, closings, type FrameSocket, type SocketOwner } from './frame-socket.ts';
import { HarnessStreams } from './harness-streams.ts';
import type { NodeLink } from './node-link.ts';
import { environmentPlace, harnessPlace } from './places.ts';
import type { SwitchContext } from './switch-context.ts';

export type HarnessGrant = Extract<SocketGrant, { role: 'harness' }>;

/** One harness socket at its node: passes frames between the WebSocket and the node of its environment. */
export class HarnessSocket implements SocketOwner {
  readonly grant: HarnessGrant;
  readonly #context: SwitchContext;
  readonly #socket = new EndpointSocket();
  readonly #environment: EnvironmentJoin;
  readonly #streams: HarnessStreams;
  readonly #onEnded: () => void;

  constructor(context: SwitchContext, grant: HarnessGrant, onEnded: () => void) {
    this.#context = context;
    this.grant = grant;
    this.#streams = new HarnessStreams(context, this.#socket, () => this.#environment.link);
    this.#environment = new EnvironmentJoin({
      context,
      local: { node: context.bus.node, place: harnessPlace(grant.connectionId) },
      key: streamOwner(grant),
      streams: () => this.#streams.ids,
      onJoined: (link) => {
        link.heard(context.now());
        this.#streams.attach();
      },
    });
    this.#onEnded = onEnded;
  }

  attach(socket: FrameSocket): void {
    this.#socket.open(socket);
  }

  /** Joins the environment at the node of its registration; false if it is not there. */
  join(registration: Registration): Promise<boolean> {
    return this.#environment.join(this.#addressOf(registration));
  }

  #addressOf({ environmentId, epoch, node }: Registration): Address {
    return { node, place: environmentPlace(environmentId, epoch, this.grant.connectionId) };
  }

  /** A message of the harness. */
  receive(frame: Uint8Array): void {
    const envelope = isControl(frame) ? undefined : readEnvelope(frame);
    if (envelope && isStreamId(envelope.streamId)) this.#streams.receive(envelope, frame);
    else this.#refuseFrame();
  }

  #refuseFrame(): void {
    this.#context.metrics.add('rendezvous_invalid_frames_total', { role: 'harness' });
    this.#close(closings.invalidFrame);
  }

  /** A message of the environment's node. */
  received(payload: Uint8Array, from: Address): void {
    const message = isControl(payload) ? decodeControl(payload) : undefined;
    if (message && this.#environment.takeAnswer(message, from)) return;
    const { link } = this.#environment;
    if (!link || !isSameAddress(link.peer, from)) return;
    link.heard(this.#context.now());
    if (message) this.#control(link, message);
    else this.#deliver(link, payload);
  }

  #deliver(link: NodeLink, frame: Uint8Array): void {
    link.countReceived();
    const envelope = readEnvelope(frame);
    if (envelope) this.#streams.deliver(envelope, frame);
  }

  #control(link: NodeLink, message: ControlMessage): void {
    if (message.type === 'gone') this.peerLost();
    if (message.type === 'credit') this.#streams.credit(message.stream, message.bytes);
    if (message.type === 'reliable') this.#streams.becomeReliable(message.stream);
    if (message.type === 'lost') this.#streams.resetWindows();
    if (message.type === 'pulse' && link.misses(message.sent)) {
      link.sendControl({ type: 'lost' });
      this.#streams.framesLost();
    }
  }

  /** The environment is not at its place, although the directory may say so. */
  peerLost(): void {
    if (!this.#environment.peerLost()) return;
    this.#streams.detach();
    const registration = this.#context.registration(this.grant.environmentId);
    if (registration?.registrationId === this.grant.registrationId && registration.state === 'online') {
      void this.join(registration);
    }
  }

  /** The environment moved, left or was registered anew. */
  registrationChanged(registration: Registration | undefined): void {
    if (registration?.registrationId === this.grant.registrationId) {
      this.#follow(registration);
    } else {
      this.#leave();
      this.#close(registration ? closings.replaced : closings.removed);
    }
  }

  #follow(registration: Registration): void {
    const { peer } = this.#environment;
    const isOnline = registration.state === 'online';
    if (isOnline && peer && isSameAddress(peer, this.#addressOf(registration))) return;
    this.#leave();
    if (isOnline) void this.join(registration);
  }

  #leave(): void {
    const wasJoined = this.#environment.link !== undefined;
    this.#environment.leave();
    if (wasJoined) this.#streams.detach();
  }

  tick(now: number): void {
    const { pulseMs, pulseSilenceMs } = this.#context.limits;
    this.#streams.tick(now);
    const { link } = this.#environment;
    if (!link?.isRemote || this.#streams.ids.length === 0) return;
    if (now - link.heardAt >= pulseSilenceMs) this.peerLost();
    else if (link.countIsDue(now, pulseMs)) link.sendCount(now);
  }

  /** Finds out whether the peer of the socket is still there. */
  probe(): void {
    this.#socket.probe();
  }

  /** Messages between nodes may have been lost: compares at once. */
  compareCounts(): void {
    const { link } = this.#environment;
    if (link?.isRemote) link.sendCount(this.#context.now());
  }

  /** The WebSocket is gone. */
  ended(): void {
    if (this.#socket.ended()) this.#release();
  }

  /** The service stops. */
  goAway(): void {
    this.#streams.endAll();
    this.#close(closings.goingAway);
  }

  #close(closing: Closing): void {
    if (this.#socket.close(closing)) this.#release();
  }

  #release(): void {
    this.#environment.end();
    this.#streams.clear();
    this.#onEnded();
  }
}

/** Who may take streams up again: the harness that began them, as long as its environment was told what its token grants now. */
const streamOwner = ({ key, token }: HarnessGrant): string => (token === undefined ? key : `${key} ${token}`);
