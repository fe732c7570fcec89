import { setTimeout as delay } from 'node:timers/promises';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../../../base/index.ts';
import { randomId } from '../api/identifiers.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import { type Address, type Bus, type BusReceiver, LocalBus } from './bus.ts';
import { BusSeal } from './bus-seal.ts';

/**
 * Messages between nodes as NATS core messages. Each goes to `rz2.<node>.<place>` and names its sender as the reply subject:
 * that is where the server says at once when nobody listens. Others may write there too, so each message is sealed with the secret of
 * the cluster. What stays on this node never leaves it.
 */
export class NatsBus implements Bus {
  readonly node: string;
  readonly #connection: NatsConnection;
  readonly #local: LocalBus;
  readonly #seal: BusSeal;
  readonly #log: Logger;
  #connected = true;

  constructor(connection: NatsConnection, name: string, keys: SigningKeys, log: Logger) {
    // A node that starts again is another one: nobody may take it for the one that had the sockets.
    this.node = `${name}-${randomId().slice(0, 8)}`;
    this.#connection = connection;
    this.#local = new LocalBus(this.node);
    this.#seal = new BusSeal(keys);
    this.#log = log;
  }

  get connected(): boolean {
    return this.#connected;
  }

  async open(receiver: BusReceiver): Promise<void> {
    await this.#local.open(receiver);
    this.#connection.subscribe(`${PREFIX}.${this.node}.>`, {
      callback: (error, message) => {
        if (error) return;
        try {
          this.#receive(receiver, message);
        } catch (failure) {
          this.#log.error('bus.message_refused', { error: (failure as Error).message }); // not written by a node
        }
      },
    });
    await this.#connection.flush();
    void this.#watch(receiver);
  }

  send(to: Address, payload: Uint8Array, from: Address): void {
    if (to.node === this.node) this.#local.send(to, payload, from);
    else if (!this.#connection.isClosed() && !this.#connection.isDraining()) {
      const way = { to: subject(to), from: subject(from) };
      this.#connection.publish(way.to, this.#seal.seal(way, payload), { reply: way.from });
    }
  }

  #receive(receiver: BusReceiver, { subject, reply, headers, data }: Msg): void {
    const { place } = addressOf(subject);
    if (headers?.code === NO_RESPONDERS) receiver.unreachable(place);
    if (headers?.code === NO_RESPONDERS || !reply) return;
    const from = addressOf(reply);
    const payload = this.#seal.open({ to: subject, from: reply }, from.node, data);
    if (payload) receiver.received(place, payload, from);
    else this.#log.warn('bus.message_refused', { node: this.node, reason: 'not sealed by a node of this cluster' });
  }

  async #watch(receiver: BusReceiver): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') this.#connected = false;
      if (status.type === 'reconnect') this.#connected = true;
      if (status.type === 'disconnect' || status.type === 'reconnect' || status.type === 'error') {
        this.#log.warn(`bus.${status.type}`, { node: this.node });
      }
      if (status.type === 'reconnect' || status.type === 'slowConsumer') receiver.interrupted();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Without a server there is nothing to drain to, and the connection would go on looking for one.
    const patience = delay(DRAIN_MS, undefined, { ref: false });
    if (this.#connected) await Promise.race([this.#connection.drain().catch(() => {}), patience]);
    await this.#connection.close();
  }
}

const DRAIN_MS = 2000;

/** The status of a message that says that nobody listens. */
const NO_RESPONDERS = 503;

/** The second generation: earlier nodes did not seal what they said. */
const PREFIX = 'rz2';

const subject = ({ node, place }: Address): string => `${PREFIX}.${node}.${place}`;

function addressOf(subject: string): Address {
  const [, node = '', ...place] = subject.split('.');
  return { node, place: place.join('.') };
}
