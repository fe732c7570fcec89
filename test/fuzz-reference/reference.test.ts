import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { randomFrom, seedFrom } from '../support/seeded.ts';
import { converse, type Outcome } from './conversation.ts';
import { declaredDifferences } from './differences.ts';
import { isGuarded } from './guard.ts';
import { ConfinedServer, SCRATCH } from './pair.ts';
import { randomStep, type Step } from './sequence.ts';

const seed = seedFrom('FUZZ_SEED');
const count = Number(process.env.FUZZ_SEQUENCES ?? 10_000);
const LANES = 4;
const SHOWN = 30;

interface Difference {
  readonly sequence: number;
  readonly step: Step | 'files';
  readonly reference: Outcome;
  readonly ours: Outcome;
}

it(`${count} random sequences get the same answers from both servers (FUZZ_SEED=${seed})`, async () => {
  await using reference = await ConfinedServer.start('reference');
  await using ours = await ConfinedServer.start('ours');
  const unexplained = new Map<string, Difference>();
  let next = 0;
  const lane = async (name: string): Promise<void> => {
    while (next < count && unexplained.size < SHOWN) {
      const sequence = next++;
      for (const found of await compare(reference, ours, name, sequence)) unexplained.set(kindOf(found), found);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, index) => lane(`l${index}`)));
  expect([...unexplained.values()].map((difference) => JSON.stringify(difference))).toEqual([]);
});

it('every declared difference is a row of docs/compatibility.md', () => {
  const document = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');
  const missing = declaredDifferences.filter(({ row }) => !document.includes(`| ${row}`));
  expect(missing.map(({ row }) => row)).toEqual([]);
});

async function compare(
  reference: ConfinedServer,
  ours: ConfinedServer,
  lane: string,
  sequence: number,
): Promise<Difference[]> {
  const random = randomFrom(seed + sequence);
  const base = `file://${SCRATCH}/${lane}`;
  const wanted = Array.from({ length: 3 + random(8) }, () => randomStep(random, base));
  const steps = wanted.filter((step) => isGuarded(step, `${SCRATCH}/${lane}`));
  const [theirs, mine] = await Promise.all([converse(reference, lane, steps), converse(ours, lane, steps)]);
  for (const [index, answer] of theirs.entries()) {
    if (JSON.stringify(answer) === JSON.stringify(mine[index])) continue;
    const step: Step | 'files' = steps[index] ?? 'files';
    const difference = { sequence, step, reference: answer, ours: mine[index]! };
    const explained =
      (step !== 'files' && declaredDifferences.some((one) => one.explains?.(step, answer, mine[index]!))) ||
      steps.slice(0, index + 1).some((earlier) => declaredDifferences.some((one) => one.leavesBehind?.(earlier)));
    // What follows a difference may differ because of it.
    return explained ? [] : [difference];
  }
  return [];
}

/** One of each kind is enough to look at. */
function kindOf({ step, reference, ours }: Difference): string {
  const words = (outcome: Outcome) => JSON.stringify(outcome).replaceAll(/\/[^"` ]*|\d+/g, '');
  return `${step === 'files' ? 'files' : (step.method ?? step.raw)} ${words(reference)} ${words(ours)}`;
}
