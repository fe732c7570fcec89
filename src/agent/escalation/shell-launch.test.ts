import { expect, it } from 'vitest';
import { attempt, DescriptorShortage, openDescriptors } from '../../../test/support/descriptor-shortage.ts';
import { testSandboxes } from '../../../test/support/host.ts';
import type { AccessPolicy } from '../../host/sandbox/index.ts';
import { launchShell } from './shell-launch.ts';

const policy: AccessPolicy = {
  network: 'restricted',
  unrestricted: false,
  rules: [{ path: '/', access: 'read', skipMissing: false }],
  deniedGlobs: [],
  globDepth: undefined,
  minimal: false,
};

const sandboxes = testSandboxes();

it('a shell for which descriptors are missing leaves none open', () => {
  const launch = () =>
    launchShell({
      ...{ intercept: 'all', bash: '/bin/bash', wrapper: '/bin/true', environment: {}, watch: true },
      ...{ sandboxes, command: 'true', workdir: '/', login: false, policy },
    });
  launch().claim[Symbol.dispose](); // what is opened once is open
  const outcomes = [0, 2, 4, 20].map((free) => {
    using _shortage = new DescriptorShortage(free);
    const before = openDescriptors();
    const outcome = attempt(() => launch().claim[Symbol.dispose]());
    return [outcome, openDescriptors() - before];
  });

  expect(outcomes[1]).toEqual([expect.stringContaining('Error'), 0]);
  expect(outcomes.map(([, left]) => left)).toEqual([0, 0, 0, 0]);
  expect(outcomes.at(-1)).toEqual(['done', 0]);
});
