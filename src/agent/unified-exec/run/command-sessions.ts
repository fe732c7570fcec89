import { randomInt } from 'node:crypto';
import { limits } from '../limits.ts';
import type { CommandSession } from './command-session.ts';

/** The facts that decide which session is ended to make room. */
export interface EvictionCandidate {
  readonly id: number;
  readonly lastUsed: number;
  readonly hasExited: boolean;
  /** A call uses the session, or waits for it. */
  readonly isInUse: boolean;
}

/**
 * Chooses the session to end for a new one: of those not among the most recently used, the oldest that has exited, else the
 * oldest. Sessions in use stay. An exited one in use is about to be removed by its call, so no running one is ended instead.
 */
export function evictionVictim(candidates: readonly EvictionCandidate[]): EvictionCandidate | undefined {
  const byAge = candidates.toSorted((a, b) => a.lastUsed - b.lastUsed);
  const replaceable = byAge.slice(0, -limits.protectedSessions);
  const exited = replaceable.filter(({ hasExited }) => hasExited);
  if (exited.length > 0) return exited.find(({ isInUse }) => !isInUse);
  return replaceable.find(({ isInUse }) => !isInUse);
}

/** The open sessions and the reserved numbers; a starting command has a number and no session yet. */
export class CommandSessions {
  readonly #reserved = new Set<number>();
  readonly #open = new Map<number, CommandSession>();
  #uses = 0;
  #isShut = false;

  get all(): CommandSession[] {
    return [...this.#open.values()];
  }

  get(id: number): CommandSession | undefined {
    return this.#open.get(id);
  }

  reserve(): number {
    for (;;) {
      const id = randomInt(LEAST_ID, ID_END);
      if (this.#reserved.has(id)) continue;
      this.#reserved.add(id);
      return id;
    }
  }

  /** Opens a session under its reserved number, and ends another one if there are too many. */
  open(session: CommandSession): void {
    if (this.#isShut) return void session.process.terminate();
    while (this.#open.size >= limits.sessions && this.#evict());
    this.touch(session);
    this.#open.set(session.id, session);
  }

  /** From now on sessions end as they open, so that disposal also ends commands that are just starting. */
  shut(): void {
    this.#isShut = true;
  }

  touch(session: CommandSession): void {
    session.lastUsed = ++this.#uses;
  }

  /** Forgets the session but keeps its number. */
  close(id: number): void {
    this.#open.delete(id);
  }

  /** Forgets the number and its session, unless the number belongs to another session by now. */
  free(id: number, session?: CommandSession): void {
    if (session && this.#open.get(id) !== session) return;
    this.#open.delete(id);
    this.#reserved.delete(id);
  }

  /** False when every session is in use. */
  #evict(): boolean {
    const victim = evictionVictim(
      this.all.map(({ id, lastUsed, process, mutex }) => ({
        id,
        lastUsed,
        hasExited: process.facts.hasExited,
        isInUse: mutex.isLocked,
      })),
    );
    const session = victim && this.#open.get(victim.id);
    if (!session) return false;
    this.free(session.id);
    void session.process.terminate();
    return true;
  }
}

const LEAST_ID = 1000;
const ID_END = 100_000;
