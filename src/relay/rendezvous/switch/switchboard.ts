import type { Logger } from '../../../base/index.ts';
import type { Metrics } from '../api/metrics.ts';
import type { Address, Bus, BusReceiver } from '../cluster/bus.ts';
import type { Directory, Registration } from '../cluster/directory.ts';
import type { RendezvousLimits } from '../limits.ts';
import { decodeControl, encodeControl, isControl } from './control-message.ts';
import { type EnvironmentFacts, EnvironmentSocket } from './environment-socket.ts';
import { type HarnessGrant, HarnessSocket } from './harness-socket.ts';
import { environmentPlace, environmentSocketKey, parsePlace } from './places.ts';
import { PresenceQueries } from './presence-queries.ts';
import { QueueBudget } from './queue-budget.ts';
import { SocketTable } from './socket-table.ts';
import { countedTraffic, type SwitchContext } from './switch-context.ts';

export interface SwitchboardOptions {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly limits: RendezvousLimits;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Milliseconds of the wall clock, for times that other nodes compare with theirs. */
  now(): number;
  /** Milliseconds of the monotonic clock. */
  steadyNow(): number;
}

/** All sockets of a node. Passes messages of other nodes to them, and keeps the directory's entries of their environments up to date. */
export class Switchboard implements BusReceiver, AsyncDisposable {
  readonly #options: SwitchboardOptions;
  readonly #context: SwitchContext;
  /** By connection id. */
  readonly #harnesses = new SocketTable<HarnessSocket>();
  /** By `environmentSocketKey`. */
  readonly #environments = new SocketTable<EnvironmentSocket>();
  readonly #queries: PresenceQueries;
  /** Updates that the directory has not confirmed yet. */
  readonly #updates = new Set<Promise<unknown>>();
  #refreshedAt: number;
  /** When counts are compared after the bus was interrupted: other nodes should be connected again by then. */
  #compareAt = Number.POSITIVE_INFINITY;

  private constructor(options: SwitchboardOptions) {
    const { bus, limits, metrics, directory, steadyNow } = options;
    this.#options = options;
    this.#refreshedAt = steadyNow();
    this.#queries = new PresenceQueries(bus, limits.askMs);
    const budget = new QueueBudget(limits.queueBytesPerNode);
    this.#context = {
      bus,
      limits,
      metrics,
      traffic: countedTraffic(metrics),
      budget,
      now: steadyNow,
      registration: (environmentId) => directory.get(environmentId),
      isPresent: (address) => this.#queries.ask(address),
    };
    directory.listen((environmentId, registration) => this.#registrationChanged(environmentId, registration));
    metrics.gauge('rendezvous_sockets', 'Open sockets, by role.', () => [
      { labels: { role: 'environment' }, value: this.#environments.size },
      { labels: { role: 'harness' }, value: this.#harnesses.size },
    ]);
    metrics.gauge('rendezvous_streams', 'Streams of the environments on this node.', () => [
      { labels: {}, value: this.#environments.all().reduce((sum, { streamCount }) => sum + streamCount, 0) },
    ]);
    metrics.gauge('rendezvous_queued_bytes', 'Bytes that wait for slow harnesses.', () => [
      { labels: {}, value: budget.used },
    ]);
  }

  static async open(options: SwitchboardOptions): Promise<Switchboard> {
    const switchboard = new Switchboard(options);
    await options.bus.open(switchboard);
    return switchboard;
  }

  get socketCount(): number {
    return this.#environments.size + this.#harnesses.size;
  }

  /**
   * Makes this node the one that has the environment's socket, which is about to open. Undefined if the registration is not the
   * current one any more.
   */
  async takeEnvironment(environmentId: string, registrationId: string): Promise<EnvironmentSocket | undefined> {
    const { directory, bus, now } = this.#options;
    let socket: EnvironmentSocket | undefined;
    const forget = (): void => {
      if (socket) this.#environments.delete(keyOf(socket.facts));
      socket = undefined;
    };
    const claim = (current: Registration | undefined): Registration | undefined => {
      forget();
      if (current?.registrationId !== registrationId) return undefined;
      const facts = { environmentId, registrationId, epoch: current.epoch + 1 };
      const made = new EnvironmentSocket(this.#context, facts, () => this.#environmentEnded(made));
      socket = made;
      this.#environments.set(keyOf(facts), environmentId, socket); // before another node can learn of it
      return { ...current, epoch: facts.epoch, node: bus.node, state: 'online', updated: now() };
    };
    try {
      await directory.update(environmentId, claim);
    } catch (error) {
      forget();
      throw error;
    }
    return socket;
  }

  #environmentEnded(socket: EnvironmentSocket): void {
    this.#environments.delete(keyOf(socket.facts));
    this.#update(socket, { state: 'offline' });
  }

  /** After an interruption of the bus, finds out what was lost without waiting for the next comparison. */
  #compareCounts(): void {
    this.#compareAt = Number.POSITIVE_INFINITY;
    for (const socket of this.#sockets()) socket.compareCounts();
  }

  /** Updates the directory's entry of an environment, as long as the entry names this socket. */
  #update({ facts }: EnvironmentSocket, changes: Pick<Partial<Registration>, 'state'>): void {
    const { directory, log, now, bus } = this.#options;
    const { environmentId, registrationId, epoch } = facts;
    const isOurs = (current: Registration): boolean =>
      current.registrationId === registrationId && current.epoch === epoch && current.node === bus.node;
    const update = directory
      .update(environmentId, (current) =>
        current && isOurs(current) ? { ...current, ...changes, updated: now() } : undefined,
      )
      .catch((error: Error) => log.warn('directory.update_failed', { environmentId, error: error.message }))
      .finally(() => this.#updates.delete(update));
    this.#updates.add(update);
  }

  /** Joins a harness to its environment. Undefined if the environment is not connected. */
  async takeHarness(grant: HarnessGrant): Promise<HarnessSocket | undefined> {
    const registration = this.#options.directory.get(grant.environmentId);
    if (registration?.registrationId !== grant.registrationId || registration.state !== 'online') return undefined;
    const socket = new HarnessSocket(this.#context, grant, () => this.#harnesses.delete(grant.connectionId));
    this.#harnesses.set(grant.connectionId, grant.environmentId, socket);
    if (await socket.join(registration)) return socket;
    socket.ended();
    return undefined;
  }

  /** Asks the node that the registration names whether it has the environment's socket. */
  async isOnline({ environmentId, epoch, node, state }: Registration): Promise<boolean> {
    return state === 'online' && this.#queries.ask({ node, place: environmentPlace(environmentId, epoch, 'any') });
  }

  received(place: string, payload: Uint8Array, from: Address): void {
    const to = parsePlace(place);
    const type = isControl(payload) ? decodeControl(payload).type : 'frame';
    if (to.kind === 'query') {
      this.#queries.answered(to.id, type === 'here');
      return;
    }
    const harness = to.kind === 'harness' ? this.#harnesses.get(to.connectionId) : undefined;
    const environment = to.kind === 'environment' ? this.#environments.get(to.socketKey) : undefined;
    const socket = harness ?? environment;
    if (type === 'ask') socket?.probe();
    if (type === 'ask' || (!socket && type !== 'gone')) this.#sendPresence(from, place, socket !== undefined);
    else if (harness) harness.received(payload, from);
    else if (to.kind === 'environment') environment?.received(to.connectionId, payload, from);
  }

  #sendPresence(to: Address, place: string, isPresent: boolean): void {
    const { bus } = this.#options;
    bus.send(to, encodeControl({ type: isPresent ? 'here' : 'gone' }), { node: bus.node, place });
  }

  unreachable(place: string): void {
    const from = parsePlace(place);
    if (from.kind === 'query') this.#queries.answered(from.id, false);
    if (from.kind === 'harness') this.#harnesses.get(from.connectionId)?.peerLost();
    if (from.kind === 'environment') this.#environments.get(from.socketKey)?.harnessLost(from.connectionId);
  }

  interrupted(): void {
    this.#options.metrics.add('rendezvous_bus_interruptions_total', {});
    this.#compareAt = this.#options.steadyNow() + this.#options.limits.settleMs;
  }

  #registrationChanged(environmentId: string, registration: Registration | undefined): void {
    for (const socket of this.#environments.of(environmentId)) socket.registrationChanged(registration);
    for (const socket of this.#harnesses.of(environmentId)) socket.registrationChanged(registration);
  }

  /** Enforces the time limits. Called about every second. */
  tick(): void {
    const { steadyNow, limits } = this.#options;
    const now = steadyNow();
    if (now >= this.#compareAt) this.#compareCounts();
    for (const socket of this.#sockets()) socket.tick(now);
    if (now - this.#refreshedAt < limits.refreshMs) return;
    this.#refreshedAt = now;
    for (const socket of this.#environments.all()) this.#update(socket, {});
  }

  #sockets(): (EnvironmentSocket | HarnessSocket)[] {
    return [...this.#environments.all(), ...this.#harnesses.all()];
  }

  /** Ends every stream and closes every socket. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets()) socket.goAway();
    await Promise.all(this.#updates);
  }
}

const keyOf = ({ environmentId, epoch }: EnvironmentFacts): string => environmentSocketKey(environmentId, epoch);
