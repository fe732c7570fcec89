import { randomInt } from 'node:crypto';
import { once } from '../../base/index.ts';
import { marksInUse } from './family.ts';
import {
  ANY_SERVER_MASK,
  familyMark,
  ownSessions,
  PROCESSES,
  processOf,
  SERVER_MASK,
  SERVERS,
  SESSION_MASK,
  SESSIONS,
  serverOf,
  sessionOf,
} from './family-mark.ts';

/**
 * Numbers for one field of marks, in ascending order. After the last one they start again, without those in use at that moment:
 * no other number can be in use later, since marks are only inherited.
 */
export class FamilyNumbers {
  readonly #count: number;
  readonly #inUse: () => Iterable<number>;
  #next = 0;
  #skipped: ReadonlySet<number> = new Set();

  constructor(count: number, inUse: () => Iterable<number>) {
    this.#count = count;
    this.#inUse = inUse;
  }

  take(): number {
    for (;;) {
      if (this.#next === this.#count) {
        this.#skipped = new Set(this.#inUse());
        if (this.#skipped.size >= this.#count) throw new Error(`all ${this.#count} family numbers are in use`);
        this.#next = 0;
      }
      const number = this.#next++;
      if (!this.#skipped.has(number)) return number;
    }
  }
}

/** Numbers for the sessions of a server; `live` are those that may still start processes. */
export function sessionNumbers(server: number, live: () => Iterable<number>): FamilyNumbers {
  const carried = () => marksInUse(familyMark(server, 0, 0), SERVER_MASK).map(sessionOf);
  return new FamilyNumbers(SESSIONS, () => [...carried(), ...live()]);
}

/** Marks for the processes of a session; `live` are those that may still be ended. */
export function processMarks(server: number, session: number, live: () => Iterable<bigint> = () => []): () => bigint {
  const carried = () => marksInUse(familyMark(server, session, 0), SESSION_MASK);
  const numbers = new FamilyNumbers(PROCESSES, () => [...carried(), ...live()].map(processOf));
  return () => familyMark(server, session, numbers.take());
}

const claimed = new Set<number>();

/** The numbers of all servers that have a visible process. */
export function serverNumbersInUse(): ReadonlySet<number> {
  return new Set(marksInUse(familyMark(0, 0, 0), ANY_SERVER_MASK).map(serverOf));
}

/**
 * A server number that no visible process has in its mark and that was not claimed here before. The guardian of a server
 * has the server's number in its mark, so that other servers see it even when no command runs.
 */
export function claimServerNumber(): number {
  const others = serverNumbersInUse();
  for (;;) {
    const number = randomInt(SERVERS);
    if (others.has(number) || claimed.has(number)) continue;
    claimed.add(number);
    return number;
  }
}

/** The server number of this process, for programs that are not servers. */
export const ownServerNumber = once(claimServerNumber);

const ownMarks = new Map<number, () => bigint>();

/** The next mark of this process for one of its own purposes. */
export function nextOwnMark(purpose: keyof typeof ownSessions): bigint {
  const session = ownSessions[purpose];
  const marks = ownMarks.get(session) ?? processMarks(ownServerNumber(), session);
  ownMarks.set(session, marks);
  return marks();
}
