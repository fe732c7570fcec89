import { expect, it } from 'vitest';
import { requireProcessRoom, requireSessionRoom } from './token-room.ts';

const grant = (limits: object) => ({ tokenName: 'ci', scopes: new Set<never>(), limits });

it.each([
  [
    requireSessionRoom,
    'sessions',
    'token ci may have 2 sessions at a time: close one',
    '1 session at',
    '0 sessions at',
  ],
  [requireProcessRoom, 'processes', 'token ci may have 2 processes at a time', '1 process at', '0 processes at'],
] as const)(
  'a token may have as many as it says, and any number where it says nothing',
  (require, what, two, one, none) => {
    expect(() => require(grant({}), () => 1e9)).not.toThrow();
    expect(() => require(grant({ [what]: 2 }), () => 1)).not.toThrow();
    expect(() => require(grant({ [what]: 2 }), () => 2)).toThrow(expect.objectContaining({ kind: 'forbidden' }));
    expect(() => require(grant({ [what]: 2 }), () => 2)).toThrow(two);
    expect(() => require(grant({ [what]: 1 }), () => 1)).toThrow(one);
    expect(() => require(grant({ [what]: 0 }), () => 0)).toThrow(none);
  },
);
