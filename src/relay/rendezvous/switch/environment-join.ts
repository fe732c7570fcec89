import { setTimeout as delay } from 'node:timers/promises';
import { type Deferred, deferred } from '../../../base/index.ts';
import { type Address, isSameAddress } from '../cluster/bus.ts';
import type { ControlMessage } from './control-message.ts';
import { type JoinEvent, type JoinState, nextJoinState } from './join-state.ts';
import { NodeLink } from './node-link.ts';
import type { SwitchContext } from './switch-context.ts';

type JoinAnswer = 'opened' | 'gone' | 'silent';

interface JoinAttempt {
  readonly link: NodeLink;
  readonly answer: Deferred<JoinAnswer>;
}

export interface EnvironmentJoinOptions {
  readonly context: SwitchContext;
  readonly local: Address;
  /** Who may take the streams up again. */
  readonly key: string;
  /** The streams that the harness has when it joins. */
  streams(): readonly string[];
  onJoined(link: NodeLink): void;
}

/** Joins a harness socket to the node that has its environment's socket. */
export class EnvironmentJoin {
  readonly #options: EnvironmentJoinOptions;
  #state: JoinState<JoinAttempt> = { phase: 'apart' };

  constructor(options: EnvironmentJoinOptions) {
    this.#options = options;
  }

  /** The link to the environment's node, while it is joined. */
  get link(): NodeLink | undefined {
    return this.#state.phase === 'joined' ? this.#state.attempt.link : undefined;
  }

  /** The place that is joined, or is about to be. */
  get peer(): Address | undefined {
    return 'attempt' in this.#state ? this.#state.attempt.link.peer : undefined;
  }

  /** False if the environment is not there, or if the harness left it or joined another place before the answer. */
  async join(peer: Address): Promise<boolean> {
    const { context, local } = this.#options;
    const { bus, limits, now } = context;
    for (const pauseMs of [...limits.openRetriesMs, undefined]) {
      const attempt = { link: new NodeLink(bus, local, peer, now()), answer: deferred<JoinAnswer>() };
      const answer = await this.#open(attempt);
      if (!this.#isJoining(attempt)) return this.link === attempt.link;
      if (answer === 'silent' || !attempt.link.isRemote || pauseMs === undefined) break;
      await delay(pauseMs);
      if (!this.#isJoining(attempt)) return this.link === attempt.link;
    }
    this.leave();
    return false;
  }

  async #open(attempt: JoinAttempt): Promise<JoinAnswer> {
    const { context, key, streams } = this.#options;
    this.#apply({ type: 'join', attempt });
    const timeout = setTimeout(() => attempt.answer.resolve('silent'), context.limits.openMs);
    attempt.link.sendControl({ type: 'open', key, streams: streams() });
    const answer = await attempt.answer.promise;
    clearTimeout(timeout);
    return answer;
  }

  #isJoining(attempt: JoinAttempt): boolean {
    return this.#state.phase === 'joining' && this.#state.attempt === attempt;
  }

  /** Takes a message of the environment's node; false if it does not answer the attempt to join. */
  takeAnswer({ type }: ControlMessage, from: Address): boolean {
    if (this.#state.phase !== 'joining' || (type !== 'opened' && type !== 'gone')) return false;
    const { link, answer } = this.#state.attempt;
    if (!isSameAddress(link.peer, from)) return false;
    answer.resolve(type);
    if (type === 'opened') {
      this.#apply({ type: 'opened' });
      this.#options.onJoined(link);
    }
    return true;
  }

  /** The peer was not found at its place. An attempt to join goes on with its next try. True if it was joined. */
  peerLost(): boolean {
    if (this.#state.phase === 'joining') this.#state.attempt.answer.resolve('gone');
    if (this.#state.phase !== 'joined') return false;
    this.leave();
    return true;
  }

  /** Leaves the place, or stops joining it. */
  leave(): void {
    this.#apply({ type: 'lost' });
  }

  /** The harness's socket is closed. */
  end(): void {
    this.link?.sendControl({ type: 'gone' });
    this.#apply({ type: 'ended' });
  }

  #apply(event: JoinEvent<JoinAttempt>): void {
    if (this.#state.phase === 'joining') this.#state.attempt.answer.resolve('gone');
    this.#state = nextJoinState(this.#state, event);
  }
}
