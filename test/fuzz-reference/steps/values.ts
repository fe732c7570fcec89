import type { RandomSource } from '../random-source.ts';
import { literal, type Params } from '../step.ts';

/** Values of other types and at the edges of their types. */
const edges: readonly unknown[] = [
  7,
  0,
  -1,
  1.5,
  literal('1.0'),
  literal('1e3'),
  2 ** 32,
  literal('9223372036854775807'),
  literal('18446744073709551615'),
  literal('18446744073709551616'),
  literal('-9223372036854775809'),
  literal('1e400'),
  '',
  'text',
  'a\0b',
  'half \ud83d',
  true,
  false,
  null,
  {},
  [],
  [7],
  { type: 'text' },
];

/** A copy, since it may be spoiled further. */
const edge = (random: RandomSource): unknown => structuredClone(random.pick(edges));

/** Leaves out members without a value; sometimes one is missing, of another type, or one too many. */
export function spoiled(random: RandomSource, params: Params): Params {
  const given = withoutUndefined(params) as Record<string, unknown>;
  if (!random.oneIn(10)) return given;
  random.oddities++;
  spoil(random, given);
  if (random.oneIn(6)) {
    random.oddities++;
    spoil(random, given);
  }
  return given;
}

function spoil(random: RandomSource, target: Record<string, unknown>): void {
  const names = Object.keys(target);
  if (names.length === 0) return;
  const name = random.pick(names);
  const value = target[name];
  if (typeof value === 'object' && value !== null && !random.oneIn(3)) {
    spoil(random, value as Record<string, unknown>);
  } else if (random.oneIn(8)) target[random.pick(['extra', 'Path', 'ä', '', 'sandboxMode'])] = edge(random);
  else if (Array.isArray(target)) target[name as unknown as number] = edge(random);
  else if (random.oneIn(3)) delete target[name];
  else target[name] = edge(random);
}

/** A copy whose parts can be changed. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutUndefined(member)]));
}
