import { describe, expect, it } from 'vitest';
import { nextStreamState, type SwitchStreamEvent, type SwitchStreamState } from './stream-state.ts';

const attached: SwitchStreamState<string> = { phase: 'attached', harness: 'first' };
const draining: SwitchStreamState<string> = { phase: 'draining', harness: 'first' };
const detached: SwitchStreamState<string> = { phase: 'detached', since: 1 };
const over: SwitchStreamState<string> = { phase: 'over' };

const events = {
  reset: { type: 'reset' },
  drained: { type: 'drained' },
  lostReliable: { type: 'lost', reliable: true, now: 2 },
  lostUnreliable: { type: 'lost', reliable: false, now: 2 },
  found: { type: 'found', harness: 'second' },
  ended: { type: 'ended' },
} as const satisfies Readonly<Record<string, SwitchStreamEvent<string>>>;

const another: SwitchStreamState<string> = { phase: 'attached', harness: 'second' };
const justDetached: SwitchStreamState<string> = { phase: 'detached', since: 2 };

type Expected = Readonly<Record<keyof typeof events, SwitchStreamState<string>>>;

const table: readonly (readonly [SwitchStreamState<string>, Expected])[] = [
  [
    attached,
    {
      reset: draining,
      drained: attached,
      lostReliable: justDetached,
      lostUnreliable: over,
      found: another,
      ended: over,
    },
  ],
  [draining, { reset: draining, drained: over, lostReliable: over, lostUnreliable: over, found: over, ended: over }],
  [
    detached,
    { reset: over, drained: detached, lostReliable: detached, lostUnreliable: detached, found: another, ended: over },
  ],
  [over, { reset: over, drained: over, lostReliable: over, lostUnreliable: over, found: over, ended: over }],
];

describe('a stream at the node of its environment', () => {
  it.each(table.map(([state, expected]) => [state.phase, state, expected] as const))(
    'follows its diagram from %s',
    (_, state, expected) => {
      const next = Object.entries(events).map(([name, event]) => [name, nextStreamState<string>(state, event)]);
      expect(Object.fromEntries(next)).toEqual(expected);
    },
  );
});
