import { type Deferred, deferred, type Logger } from '../../../base/index.ts';
import { environmentToken, randomId } from '../api/identifiers.ts';
import type { Metrics } from '../api/metrics.ts';
import type { Address, Bus, BusReceiver } from '../cluster/bus.ts';
import type { Directory, Registration } from '../cluster/directory.ts';
import type { RendezvousLimits } from '../limits.ts';
import { type ControlMessage, decodeControl, encodeControl, isControl } from './control-message.ts';
import { EnvironmentSocket } from './environment-socket.ts';
import { type HarnessGrant, HarnessSocket } from './harness-socket.ts';
import { QueueBudget } from './queue-budget.ts';
import { SocketTable } from './socket-table.ts';
import { countedTraffic, environmentPlace, type SwitchContext } from './switch-context.ts';

export interface SwitchboardOptions {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly limits: RendezvousLimits;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** The time of the day, which other nodes compare with theirs. */
  now(): number;
  /** Milliseconds of a clock that nobody sets. */
  steadyNow(): number;
}

/** The sockets of a node, and the way from each to the others. Knows sockets as ports and other nodes as addresses. */
export class Switchboard implements BusReceiver, AsyncDisposable {
  readonly #options: SwitchboardOptions;
  readonly #context: SwitchContext;
  /** By the ids of their connections. */
  readonly #harnesses = new SocketTable<HarnessSocket>();
  /** By token and epoch, as in their places. */
  readonly #environments = new SocketTable<EnvironmentSocket>();
  readonly #questions = new Map<string, Deferred<boolean>>();
  /** On their way to the directory. */
  readonly #changes = new Set<Promise<unknown>>();
  #refreshedAt: number;
  /** When other nodes should be back as well. */
  #settledAt = Number.POSITIVE_INFINITY;

  private constructor(options: SwitchboardOptions) {
    const { bus, limits, metrics, directory, steadyNow } = options;
    this.#options = options;
    this.#refreshedAt = steadyNow();
    const budget = new QueueBudget(limits.queueBytesPerNode);
    this.#context = {
      bus,
      limits,
      metrics,
      traffic: countedTraffic(metrics),
      budget,
      now: steadyNow,
      registration: (environmentId) => directory.get(environmentId),
      isThere: (address) => this.#isThere(address),
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
   * Makes this node the one that has the environment's socket, which is about to open. Nothing, if the registration is not
   * the current one any more.
   */
  async takeEnvironment(environmentId: string, registrationId: string): Promise<EnvironmentSocket | undefined> {
    const { directory, bus, now } = this.#options;
    let socket: EnvironmentSocket | undefined;
    const forget = (): void => {
      if (socket) this.#environments.delete(keyOf(socket.facts));
      socket = undefined;
    };
    const change = (current: Registration | undefined): Registration | undefined => {
      forget();
      if (current?.registrationId !== registrationId) return undefined;
      const facts = { environmentId, registrationId, epoch: current.epoch + 1 };
      const made = new EnvironmentSocket(this.#context, facts, () => this.#environmentEnded(made));
      socket = made;
      this.#environments.set(keyOf(facts), environmentId, socket); // before anybody can know of it
      return { ...current, epoch: facts.epoch, node: bus.node, state: 'online', updated: now() };
    };
    try {
      await directory.update(environmentId, change);
    } catch (error) {
      forget();
      throw error;
    }
    return socket;
  }

  #environmentEnded(socket: EnvironmentSocket): void {
    this.#environments.delete(keyOf(socket.facts));
    this.#change(socket, { state: 'offline' });
  }

  /** After an interruption, finds out at once what was lost. */
  #compare(): void {
    this.#settledAt = Number.POSITIVE_INFINITY;
    for (const socket of this.#sockets()) socket.pulse();
  }

  /** Says what is new of an environment, as long as this is the node that may. */
  #change({ facts }: EnvironmentSocket, news: Pick<Partial<Registration>, 'state'>): void {
    const { directory, log, now, bus } = this.#options;
    const { environmentId, registrationId, epoch } = facts;
    const isOurs = (current: Registration): boolean =>
      current.registrationId === registrationId && current.epoch === epoch && current.node === bus.node;
    const changed = directory
      .update(environmentId, (current) =>
        current && isOurs(current) ? { ...current, ...news, updated: now() } : undefined,
      )
      .catch((error: Error) => log.warn('directory.update_failed', { environmentId, error: error.message }))
      .finally(() => this.#changes.delete(changed));
    this.#changes.add(changed);
  }

  /** Lets a harness talk to its environment; nothing, if that is not there. */
  async takeHarness(grant: HarnessGrant): Promise<HarnessSocket | undefined> {
    const registration = this.#options.directory.get(grant.environmentId);
    if (registration?.registrationId !== grant.registrationId || registration.state !== 'online') return undefined;
    const socket = new HarnessSocket(this.#context, grant, () => this.#harnesses.delete(grant.connectionId));
    this.#harnesses.set(grant.connectionId, grant.environmentId, socket);
    if (await socket.join(registration)) return socket;
    socket.ended();
    return undefined;
  }

  /** Whether the environment's socket is there, by the word of its node. */
  async isOnline(registration: Registration): Promise<boolean> {
    const { environmentId, epoch, node, state } = registration;
    return state === 'online' && this.#isThere({ node, place: environmentPlace(environmentId, epoch, 'any') });
  }

  async #isThere(address: Address): Promise<boolean> {
    const id = randomId();
    const answer = deferred<boolean>();
    this.#questions.set(id, answer);
    const patience = setTimeout(() => answer.resolve(false), this.#options.limits.askMs);
    this.#tell(address, { type: 'ask' }, `q.${id}`);
    const there = await answer.promise;
    clearTimeout(patience);
    this.#questions.delete(id);
    return there;
  }

  #tell(to: Address, message: ControlMessage, place: string): void {
    const { bus } = this.#options;
    bus.send(to, encodeControl(message), { node: bus.node, place });
  }

  received(place: string, payload: Uint8Array, from: Address): void {
    const [kind, first = '', second = '', third = ''] = place.split('.');
    const type = isControl(payload) ? decodeControl(payload).type : 'frame';
    if (kind === 'q') {
      this.#questions.get(first)?.resolve(type === 'here');
      return;
    }
    const harness = kind === 'h' ? this.#harnesses.get(first) : undefined;
    const environment = kind === 'e' ? this.#environments.get(`${first}.${second}`) : undefined;
    const there = harness ?? environment;
    if (type === 'ask') there?.probe();
    if (type === 'ask' || (!there && type !== 'gone')) {
      this.#tell(from, { type: there ? 'here' : 'gone' }, place);
    } else if (harness) harness.received(payload, from);
    else environment?.received(third, payload, from);
  }

  unreachable(place: string): void {
    const [kind, first = '', second = '', third = ''] = place.split('.');
    if (kind === 'q') this.#questions.get(first)?.resolve(false);
    if (kind === 'h') this.#harnesses.get(first)?.peerLost();
    if (kind === 'e') this.#environments.get(`${first}.${second}`)?.harnessLost(third);
  }

  interrupted(): void {
    this.#options.metrics.add('rendezvous_bus_interruptions_total', {});
    this.#settledAt = this.#options.steadyNow() + this.#options.limits.settleMs;
  }

  #registrationChanged(environmentId: string, registration: Registration | undefined): void {
    for (const socket of this.#environments.of(environmentId)) socket.registrationChanged(registration);
    for (const socket of this.#harnesses.of(environmentId)) socket.registrationChanged(registration);
  }

  /** Does what is due; called about every second. */
  tick(): void {
    const { steadyNow, limits } = this.#options;
    const now = steadyNow();
    if (now >= this.#settledAt) this.#compare();
    for (const socket of this.#sockets()) socket.tick(now);
    if (now - this.#refreshedAt < limits.refreshMs) return;
    this.#refreshedAt = now;
    for (const socket of this.#environments.all()) this.#change(socket, {});
  }

  #sockets(): (EnvironmentSocket | HarnessSocket)[] {
    return [...this.#environments.all(), ...this.#harnesses.all()];
  }

  /** Ends every stream and says goodbye to every socket. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets()) socket.close();
    await Promise.all(this.#changes);
  }
}

const keyOf = ({ environmentId, epoch }: { environmentId: string; epoch: number }): string =>
  `${environmentToken(environmentId)}.${epoch}`;
