/**
 * Keeps the event loop awake between the requests of a chain, each of which is sent when the one before is answered:
 * waking the core of a virtual machine takes several times as long as answering a small request. Only somebody who has
 * just sent some in a row is waited for, and for no longer than one of them may take to come.
 */
export class Vigil {
  readonly #now: () => number;
  readonly #nextTurn: (callback: () => void) => unknown;
  #links = 0;
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Messages sent since one was heard: the answer and, if something else goes on, more. */
  #said = 0;
  #watching = false;

  constructor(now = () => performance.now(), nextTurn: (callback: () => void) => unknown = setImmediate) {
    this.#now = now;
    this.#nextTurn = nextTurn;
  }

  /** A message has come. */
  heard(): void {
    const now = this.#now();
    const sinceLast = now - this.#heardAt;
    const isLink = this.#said === 1 && sinceLast > SHORTEST_LINK_MS && sinceLast < LONGEST_LINK_MS;
    this.#links = isLink ? this.#links + 1 : 0;
    this.#heardAt = now;
    this.#said = 0;
  }

  /** A message is sent. */
  said(): void {
    this.#said++;
    if (this.#links >= LINKS_OF_A_CHAIN && !this.#watching) this.#watch();
  }

  /** Until the next message is late; while one is worked on or something else is said, the core is better left free. */
  readonly #watch = (): void => {
    const isAnswered = this.#links > 0 && this.#said === 1;
    this.#watching = isAnswered && this.#now() - this.#heardAt < LONGEST_LINK_MS;
    if (this.#watching) this.#nextTurn(this.#watch);
  };
}

/** What follows more closely was sent without waiting for the answer, or by somebody who shares our core and needs it. */
const SHORTEST_LINK_MS = 0.04;
/** What comes later comes from farther away than a core is from waking up. */
const LONGEST_LINK_MS = 0.5;
const LINKS_OF_A_CHAIN = 3;
