import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { seedFrom } from '../support/seeded.ts';
import { compareSequence, type Difference } from './comparison.ts';
import { ConfinedServer } from './confined-server.ts';
import { declaredDifferences } from './differences.ts';
import type { Outcome } from './server-side.ts';
import { startUpstream } from './upstream.ts';

const seed = seedFrom('FUZZ_SEED');
const first = Number(process.env.FUZZ_FIRST ?? 0);
const count = Number(process.env.FUZZ_SEQUENCES ?? 10_000);
const LANES = 6;
const SHOWN = Number(process.env.FUZZ_SHOWN ?? 30);

it(`${count} random sequences get the same answers from both servers (FUZZ_SEED=${seed})`, async () => {
  await using reference = await ConfinedServer.start('reference');
  await using ours = await ConfinedServer.start('ours');
  await using upstream = await startUpstream();
  const unexplained = new Map<string, Difference>();
  const explained = new Map<string, number>();
  const onExplained = (row: string) => void explained.set(row, (explained.get(row) ?? 0) + 1);
  let next = first;
  const run = async (name: string): Promise<void> => {
    const lane = { name, reference, ours, upstream: upstream.url, onExplained };
    while (next < first + count && unexplained.size < SHOWN) {
      for (const found of await compareSequence(lane, seed, next++)) unexplained.set(kindOf(found), found);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, index) => run(`l${index}`)));
  const counts = [...explained].sort(([, one], [, other]) => other - one).map(([row, times]) => `${times} × ${row}`);
  console.info(
    `seed ${seed}: ${next - first} sequences from ${first}, ${unexplained.size} kinds of unexplained differences; ` +
      `explained: ${counts.join('; ')}`,
  );
  expect([...unexplained.values()].map((difference) => JSON.stringify(difference))).toEqual([]);
});

it('every declared difference is a row of docs/compatibility.md', () => {
  const document = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');
  const missing = declaredDifferences.filter(({ row }) => !document.includes(`| ${row}`));
  expect(missing.map(({ row }) => row)).toEqual([]);
});

/** One of each kind is enough to look at. */
function kindOf({ step, reference, ours }: Difference): string {
  const words = ({ files: _files, ...outcome }: Outcome) => JSON.stringify(outcome).replaceAll(/\/[^"` ]*|\d+/g, '');
  return `${step.kind === 'call' ? step.method : step.kind} ${words(reference)} ${words(ours)}`;
}
