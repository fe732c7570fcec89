import { setTimeout as delay } from 'node:timers/promises';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../../../base/index.ts';
import { randomId } from '../api/identifiers.ts';
import { natsLimits } from '../limits.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import { type Address, type Bus, type BusReceiver, LocalBus } from './bus.ts';
import { BusSeal } from './bus-seal.ts';

/**
 * Messages between nodes as NATS core messages. Each goes to `rz2.<node>.<place>` and names its sender as the reply subject, where the
 * NATS server reports at once that no node subscribes to the receiver's. Other programs may write to these subjects as well, so each
 * message is sealed with the secret of the cluster. Messages of a node to itself do not use NATS.
 */
export class NatsBus implements Bus {
  readonly node: string;
  readonly #connection: NatsConnection;
  readonly #local: LocalBus;
  readonly #seal: BusSeal;
  readonly #log: Logger;
  #connected = true;

  constructor(connection: NatsConnection, name: string, keys: SigningKeys, log: Logger) {
    // After a restart the node has another name, so it is not taken for the one that had the sockets.
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
          this.#log.error('bus.message_refused', { error: (failure as Error).message }); // not JSON, so no node wrote it
        }
      },
    });
    await this.#connection.flush();
    void this.#watch(receiver);
  }

  send(to: Address, payload: Uint8Array, from: Address): void {
    if (to.node === this.node) this.#local.send(to, payload, from);
    else if (!this.#connection.isClosed() && !this.#connection.isDraining()) {
      const route = { to: subject(to), from: subject(from) };
      this.#connection.publish(route.to, this.#seal.seal(route, payload), { reply: route.from });
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
    // A connection that has lost its server would look for another one instead of draining.
    const timeout = delay(natsLimits.drainMs, undefined, { ref: false });
    if (this.#connected) await Promise.race([this.#connection.drain().catch(() => {}), timeout]); // it is closed next, drained or not
    await this.#connection.close();
  }
}

/** The status of the NATS server's report that no node subscribes. */
const NO_RESPONDERS = 503;

/** The second generation of messages: the first was not sealed. */
const PREFIX = 'rz2';

const subject = ({ node, place }: Address): string => `${PREFIX}.${node}.${place}`;

function addressOf(subject: string): Address {
  const [, node = '', ...place] = subject.split('.');
  return { node, place: place.join('.') };
}
