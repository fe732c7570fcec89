import { silentLogger } from '../../src/base/index.ts';
import { decodeFrame, encodeFrame, type RelayBody } from '../../src/relay/index.ts';
import { Metrics } from '../../src/relay/rendezvous/api/metrics.ts';
import type { Address, Bus, BusReceiver } from '../../src/relay/rendezvous/cluster/bus.ts';
import type { Registration } from '../../src/relay/rendezvous/cluster/directory.ts';
import { LocalDirectory } from '../../src/relay/rendezvous/cluster/local-directory.ts';
import { type RendezvousLimits, rendezvousLimits } from '../../src/relay/rendezvous/limits.ts';
import type { EnvironmentSocket } from '../../src/relay/rendezvous/switch/environment-socket.ts';
import type { FrameListener, FrameSocket } from '../../src/relay/rendezvous/switch/frame-socket.ts';
import type { HarnessSocket } from '../../src/relay/rendezvous/switch/harness-socket.ts';
import { Switchboard } from '../../src/relay/rendezvous/switch/switchboard.ts';

type Change = (current: Registration | undefined) => Registration | undefined;

/** Nodes joined by a bus; the test decides which messages it loses. */
export class SwitchCluster {
  now = 0;
  /** Says of each message between nodes whether the bus loses it. */
  loses: (payload: Uint8Array) => boolean = () => false;
  readonly #receivers = new Map<string, BusReceiver>();
  readonly #directory = new LocalDirectory({ most: 10, keepMs: 1000, now: () => this.now });
  /** Runs before each change of the directory, for example to change it first. */
  beforeUpdate: (change: Change, current: Registration | undefined) => void = () => {};
  readonly #boards: Switchboard[] = [];
  readonly #limits: RendezvousLimits;

  constructor(limits: Partial<RendezvousLimits> = {}) {
    const update = this.#directory.update.bind(this.#directory);
    this.#directory.update = async (id, change) => {
      this.beforeUpdate(change, this.#directory.get(id));
      return update(id, change);
    };
    this.#limits = { ...rendezvousLimits, ...limits };
  }

  async node(name: string): Promise<Switchboard> {
    const board = await Switchboard.open({
      bus: this.#bus(name),
      directory: this.#directory,
      limits: this.#limits,
      metrics: new Metrics(),
      log: silentLogger,
      now: () => 0,
      steadyNow: () => this.now,
    });
    this.#boards.push(board);
    return board;
  }

  /** Takes a node away; the other nodes are not told. */
  kill(name: string): void {
    this.#receivers.delete(name);
  }

  async environment(board: Switchboard): Promise<SocketPeer<EnvironmentSocket>> {
    await this.register('r');
    return new SocketPeer((await board.takeEnvironment('env', 'r'))!);
  }

  async register(registrationId: string): Promise<void> {
    await this.#directory.update('env', (current) => ({
      environmentId: 'env',
      registrationId,
      executorPublicKey: {
        suite: 'Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256',
        x25519_public_key: '',
        mlkem768_public_key: '',
      },
      epoch: current?.epoch ?? 0,
      node: '',
      state: 'offline',
      updated: 0,
      ownerChanges: [],
      registeredBy: '',
    }));
  }

  async harness(board: Switchboard, connectionId = 'c', key = 'k'): Promise<SocketPeer<HarnessSocket>> {
    const grant = { role: 'harness', environmentId: 'env', registrationId: 'r', connectionId, key } as const;
    return new SocketPeer((await board.takeHarness(grant))!);
  }

  pass(milliseconds: number): void {
    for (const end = this.now + milliseconds; this.now < end; ) {
      this.now += 1000;
      for (const board of this.#boards) board.tick();
    }
  }

  #bus(node: string): Bus {
    const receivers = this.#receivers;
    return {
      node,
      open: async (receiver) => void receivers.set(node, receiver),
      send: (to: Address, payload: Uint8Array, from: Address) => {
        if (!receivers.has(node)) return; // killed
        if (to.node !== node && this.loses(payload)) return;
        const receiver = receivers.get(to.node);
        if (receiver) receiver.received(to.place, payload, from);
        else receivers.get(node)?.unreachable(from.place);
      },
      async [Symbol.asyncDispose]() {},
    };
  }
}

/** The endpoint of a socket; frames leave at once unless it holds them. */
export class SocketPeer<Socket extends FrameListener & { attach(socket: FrameSocket): void }> implements FrameSocket {
  readonly socket: Socket;
  readonly received: string[] = [];
  readonly unwritten: (() => void)[] = [];
  holding = false;
  paused = false;
  closed: number | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.attach(this);
  }

  send(frame: Uint8Array, written: () => void = () => {}): void {
    const { body } = decodeFrame(frame);
    this.received.push(body.type === 'data' ? `${body.seq}` : body.type === 'reset' ? body.reason : body.type);
    if (this.holding) this.unwritten.push(written);
    else written();
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  probe(): void {}

  close(code: number): void {
    this.closed = code;
  }

  say(body: RelayBody, streamId = 's'): void {
    this.socket.receive(encodeFrame({ streamId, body }));
  }

  data(seq: number, bytes = 1): void {
    this.say({ type: 'data', seq, segmentIndex: 0, segmentCount: 1, payload: new Uint8Array(bytes).fill(1) });
  }

  /** Forgets what came so far. */
  clear(): this {
    this.received.length = 0;
    return this;
  }
}
