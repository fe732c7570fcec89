import { describe, expect, it } from 'vitest';
import { type JoinEvent, type JoinState, nextJoinState } from './join-state.ts';

const apart: JoinState<string> = { phase: 'apart' };
const joining: JoinState<string> = { phase: 'joining', attempt: 'first' };
const joined: JoinState<string> = { phase: 'joined', attempt: 'first' };
const ended: JoinState<string> = { phase: 'ended' };
const again: JoinState<string> = { phase: 'joining', attempt: 'second' };

const events = {
  join: { type: 'join', attempt: 'second' },
  opened: { type: 'opened' },
  lost: { type: 'lost' },
  ended: { type: 'ended' },
} as const satisfies Readonly<Record<JoinEvent<string>['type'], JoinEvent<string>>>;

describe('a harness socket and the node of its environment', () => {
  it.each([
    ['apart', apart, { join: again, opened: apart, lost: apart, ended }],
    ['joining', joining, { join: again, opened: joined, lost: apart, ended }],
    ['joined', joined, { join: again, opened: joined, lost: apart, ended }],
    ['ended', ended, { join: ended, opened: ended, lost: ended, ended }],
  ] as const)('follow their diagram from %s', (_, state, expected) => {
    const next = Object.entries(events).map(([type, event]) => [type, nextJoinState<string>(state, event)]);
    expect(Object.fromEntries(next)).toEqual(expected);
  });
});
