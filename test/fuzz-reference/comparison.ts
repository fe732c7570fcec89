import { randomFrom } from '../support/seeded.ts';
import { type ConfinedServer, SCRATCH } from './confined-server.ts';
import { type DeclaredDifference, declaredDifferences } from './differences.ts';
import { isGuarded } from './guard.ts';
import { copyLayout, layOut, listing } from './layout.ts';
import { randomSequence } from './sequence.ts';
import { type Outcome, ServerSide } from './server-side.ts';
import { memberOf, type Step } from './step.ts';

export interface Difference {
  readonly sequence: number;
  readonly step: Step;
  readonly reference: Outcome;
  readonly ours: Outcome;
}

/** Where the sequences of one lane run. */
export interface Lane {
  readonly name: string;
  readonly reference: ConfinedServer;
  readonly ours: ConfinedServer;
  readonly upstream: string;
  /** Told of each difference that a declared one explains, by its row. */
  readonly onExplained: (row: string) => void;
}

/** Sends one sequence to both servers, step by step; the differences that nothing explains. */
export async function compareSequence(lane: Lane, seed: number, sequence: number): Promise<Difference[]> {
  const place = { base: `file://${SCRATCH}/${lane.name}`, upstream: lane.upstream };
  const steps = randomSequence(randomFrom(Math.imul(seed, 0x9e3779b1) + sequence), place);
  const comparison = await Comparison.start(lane);
  await using _both = comparison;
  for (const step of steps) {
    if (!isGuarded(step, `${SCRATCH}/${lane.name}`, lane.upstream)) continue;
    const found = await comparison.take(step);
    // What follows an unexplained difference may differ because of it.
    if (found) return [{ sequence, ...found }];
  }
  return [];
}

class Comparison implements AsyncDisposable {
  readonly #lane: Lane;
  readonly #reference: ServerSide;
  readonly #ours: ServerSide;
  /** Names that stand for an id of the sequence, since states of that id have parted. */
  readonly #aliases = new Map<string, string>();

  private constructor(lane: Lane, reference: ServerSide, ours: ServerSide) {
    this.#lane = lane;
    this.#reference = reference;
    this.#ours = ours;
  }

  static async start(lane: Lane): Promise<Comparison> {
    const { name, reference, ours, upstream } = lane;
    const [theirs, mine] = await Promise.all([
      ServerSide.start(reference, name, upstream),
      ServerSide.start(ours, name, upstream),
    ]);
    for (const { folder } of [theirs, mine]) layOut(folder);
    return new Comparison(lane, theirs, mine);
  }

  async take(wanted: Step): Promise<Omit<Difference, 'sequence'> | undefined> {
    const step = this.#renamed(wanted);
    const [reference, ours] = await Promise.all([outcomeOf(this.#reference, step), outcomeOf(this.#ours, step)]);
    return this.#judge(step, reference, ours);
  }

  /** The difference between two outcomes, if nothing explains it. */
  async #judge(step: Step, reference: Outcome, ours: Outcome): Promise<Omit<Difference, 'sequence'> | undefined> {
    if (isSame(reference, ours)) return undefined;
    const declared = declaredDifferences.find((difference) => isExplained(difference, step, reference, ours));
    if (!declared) return { step, reference, ours };
    this.#lane.onExplained(declared.row);
    const { asReference, asOurs, resentToOurs, sentToBoth } = declared;
    if (asReference) {
      const other = asReference(step);
      return this.#judge(other, await outcomeOf(this.#reference, other), asOurs?.(step, ours) ?? ours);
    }
    if (resentToOurs) {
      const other = resentToOurs(step);
      return this.#judge(other, reference, await outcomeOf(this.#ours, other));
    }
    if (sentToBoth) return this.take(sentToBoth(step));
    await this.#realign(declared, step);
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#reference[Symbol.asyncDispose](), this.#ours[Symbol.asyncDispose]()]);
  }

  #renamed(step: Step): Step {
    if (step.kind !== 'call' || typeof step.params !== 'object' || step.params === null) return step;
    const params = { ...(step.params as Record<string, unknown>) };
    for (const name of ['processId', 'handleId']) {
      const alias = this.#aliases.get(String(params[name]));
      if (alias !== undefined && typeof params[name] === 'string') params[name] = alias;
    }
    return { ...step, params };
  }

  /** Brings both servers into the same state after a difference that let them diverge. */
  async #realign({ diverging = [] }: DeclaredDifference, step: Step): Promise<void> {
    const sides = [this.#reference, this.#ours];
    if (diverging.includes('session')) await Promise.all(sides.map((side) => side.beginAgain()));
    if (diverging.includes('process')) {
      const id = String(memberOf(step, 'params', 'processId'));
      await Promise.all(sides.map((side) => side.end(id)));
      this.#rename(id);
    }
    const [theirs, mine] = sides.map(({ folder }) => folder) as [string, string];
    if (!isSame(listing(theirs), listing(mine))) {
      await Promise.all(sides.map((side) => side.resume())); // open handles name files that are replaced
      copyLayout(theirs, mine);
    }
  }

  #rename(id: string): void {
    const original = [...this.#aliases].find(([, alias]) => alias === id)?.[0] ?? id;
    this.#aliases.set(original, `${id}'`);
  }
}

/**
 * A declared difference explains other files only if it says so, or says how the reference gets the same ones. One that says
 * which request is answered alike explains nothing if that is the same request.
 */
function isExplained(difference: DeclaredDifference, step: Step, reference: Outcome, ours: Outcome): boolean {
  const { diverging = [], asReference, resentToOurs, sentToBoth, explains } = difference;
  const mayDiverge = asReference !== undefined || resentToOurs !== undefined || diverging.includes('files');
  if (!(mayDiverge || isSame(reference.files, ours.files)) || !explains(step, reference, ours)) return false;
  const other = asReference ?? resentToOurs ?? sentToBoth;
  return other === undefined || !isSame(step, other(step));
}

/** What came of a step, and the files as they are then. */
async function outcomeOf(side: ServerSide, step: Step): Promise<Outcome> {
  const outcome = await side.take(step);
  return { ...outcome, files: listing(side.folder) };
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
