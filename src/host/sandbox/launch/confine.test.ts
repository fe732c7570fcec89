import { expect, it } from 'vitest';
import { attempt, DescriptorShortage, openDescriptors } from '../../../../test/support/descriptor-shortage.ts';
import type { AccessPolicy } from '../policy/resolution.ts';
import { SandboxHost } from '../sandbox-host.ts';
import { confine } from './confine.ts';

const sandboxes = new SandboxHost({ environment: {} });
const command = { argv: ['true'], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' } } as const;

const reading = (path: string): AccessPolicy => ({
  network: 'restricted',
  unrestricted: false,
  rules: [{ path, access: 'read', skipMissing: false }],
  deniedGlobs: [],
  globDepth: undefined,
  minimal: true,
});

it('a path with a NUL is no way to slip the launcher an option', () => {
  expect(confine(sandboxes, command, reading('/usr')).refused).toBe(false);
  expect(confine(sandboxes, command, reading('/usr\0--share-net')).refused).toBe(true);
});

it('a command for which descriptors are missing leaves none open', () => {
  const options = { managedNetwork: { HTTP_PROXY: 'http://127.0.0.1:1' }, watch: true };
  confine(sandboxes, command, reading('/usr'), options).claim[Symbol.dispose](); // what is opened once is open
  const outcomes = [0, 2, 4, 6, 20].map((free) => {
    using _shortage = new DescriptorShortage(free);
    const before = openDescriptors();
    const outcome = attempt(() => confine(sandboxes, command, reading('/usr'), options).claim[Symbol.dispose]());
    return [outcome, openDescriptors() - before];
  });

  expect(outcomes[1]).toEqual([expect.stringContaining('Error'), 0]);
  expect(outcomes.map(([, left]) => left)).toEqual([0, 0, 0, 0, 0]);
  expect(outcomes.at(-1)).toEqual(['done', 0]);
});
