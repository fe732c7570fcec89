import { expect, it } from 'vitest';
import { confine } from './confine.ts';
import type { Policy } from './policy.ts';

const command = { argv: ['true'], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' } } as const;

const reading = (path: string): Policy => ({
  network: 'restricted',
  unrestricted: false,
  rules: [{ path, access: 'read', skipMissing: false }],
  deniedGlobs: [],
  globDepth: undefined,
  minimal: true,
});

it('a path with a NUL is no way to slip the launcher an option', () => {
  expect(confine(command, reading('/usr')).refused).toBe(false);
  expect(confine(command, reading('/usr\0--share-net')).refused).toBe(true);
});
