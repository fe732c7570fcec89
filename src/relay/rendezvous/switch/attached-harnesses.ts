import type { Address } from '../cluster/bus.ts';
import { switchLimits } from '../limits.ts';
import type { ControlMessage } from './control-message.ts';
import type { EnvironmentStreams } from './environment-streams.ts';
import { NodeLink } from './node-link.ts';
import type { SwitchContext } from './switch-context.ts';

/** A harness connection, as the node of its environment knows it. */
export interface AttachedHarness {
  readonly connectionId: string;
  /** Who may take its streams up again: the harness with this key, and with a token that grants what the environment was told. */
  readonly key: string;
  readonly link: NodeLink;
}

/** The harness connections of one environment socket. */
export class AttachedHarnesses {
  readonly #context: SwitchContext;
  readonly #streams: EnvironmentStreams;
  readonly #harnesses = new Map<string, AttachedHarness>();
  #closed = false;

  constructor(context: SwitchContext, streams: EnvironmentStreams) {
    this.#context = context;
    this.#streams = streams;
  }

  get(connectionId: string): AttachedHarness | undefined {
    return this.#harnesses.get(connectionId);
  }

  /**
   * Attaches a harness connection; false if there is no room for it. A harness that lost its connection comes back with the same key.
   * Its older connection is probed first: when the node of that has died, the executor must hear that the old streams are over before
   * new ones can resume their sessions.
   */
  async open(
    connectionId: string,
    { key, streams }: ControlMessage & { type: 'open' },
    local: Address,
    from: Address,
  ): Promise<boolean> {
    const { bus, now, isPresent } = this.#context;
    const older = [...this.#harnesses.values()].filter(
      (harness) => harness.key === key && harness.connectionId !== connectionId,
    );
    await Promise.all(
      older.map(async (harness) => {
        if (!(await isPresent(harness.link.peer))) this.lost(harness);
      }),
    );
    const known = this.#harnesses.get(connectionId);
    if (this.#closed || (!known && !this.#makeRoom())) return false;
    if (known) this.lost(known);
    const harness: AttachedHarness = { connectionId, key, link: new NodeLink(bus, local, from, now()) };
    this.#harnesses.set(connectionId, harness);
    this.#streams.adopt(streams, harness);
    harness.link.sendControl({ type: 'opened' });
    return true;
  }

  /** The death of a node is not noticed for connections without streams. One that is alive opens again when it has some. */
  #makeRoom(): boolean {
    if (this.#harnesses.size < switchLimits.connectionsPerStream * this.#context.limits.streamsPerEnvironment)
      return true;
    const idle = [...this.#harnesses.values()].find((harness) => this.#streams.of(harness).length === 0);
    return idle !== undefined && this.#harnesses.delete(idle.connectionId);
  }

  /** The harness, or its node, is gone. */
  lost(harness: AttachedHarness): void {
    this.#harnesses.delete(harness.connectionId);
    this.#streams.detach(harness);
  }

  tick(now: number): void {
    const { pulseMs, pulseSilenceMs } = this.#context.limits;
    for (const harness of [...this.#harnesses.values()]) {
      const { link } = harness;
      if (!link.isRemote || this.#streams.of(harness).length === 0) continue;
      if (now - link.heardAt >= pulseSilenceMs) this.lost(harness);
      else if (link.countIsDue(now, pulseMs)) link.sendCount(now);
    }
  }

  /** Messages between nodes may have been lost: compares at once. */
  compareCounts(): void {
    for (const { link } of this.#harnesses.values()) {
      if (link.isRemote) link.sendCount(this.#context.now());
    }
  }

  /** Tells every harness that the environment's socket is closed. */
  close(): void {
    this.#closed = true;
    for (const { link } of this.#harnesses.values()) link.sendControl({ type: 'gone' });
    this.#harnesses.clear();
  }
}
