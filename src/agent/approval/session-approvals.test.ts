import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escalated, scriptRequest } from '../../../test/support/script-request.ts';
import type { CommandRequest } from './command-request.ts';
import { commandKey, SessionApprovals } from './session-approvals.ts';

const request = scriptRequest('id -g', {
  ...escalated,
  additionalPermissions: { network: { enabled: true }, file_system: { read: ['/a'], write: ['/b'] } },
});
const key = (change: Partial<CommandRequest>): string => commandKey({ ...request, ...change });

describe('the key of an approval for the session', () => {
  it.each<[string, Partial<CommandRequest>]>([
    ['environment', { environmentId: 'other' }],
    ['executable', { argv: ['/usr/bin/bash', '-c', 'id -g'] }],
    ['command', { argv: ['/bin/bash', '-c', 'id -G'] }],
    ['directory', { cwd: '/work/sub' }],
    ['terminal', { tty: true }],
    ['wish', { sandboxPermissions: 'use_default' }],
    ['additional permissions', { additionalPermissions: { network: { enabled: true } } }],
  ])('differs with the %s', (_, change) => {
    expect(key(change)).not.toBe(key({}));
  });

  it('is the same for another call, its reason, the spelling of its words and the order of its permissions', () => {
    expect(key({ callId: 'call_2', turnId: 't', justification: 'j', prefixRule: ['id'] })).toBe(key({}));
    expect(key({ argv: ['/bin/bash', '-lc', "id  '-g'"] })).toBe(key({}));
    expect(
      key({ additionalPermissions: { file_system: { write: ['/b'], read: ['/a'] }, network: { enabled: true } } }),
    ).toBe(key({}));
  });

  it('never confuses two commands of several words', () => {
    const argv = fc.array(fc.string(), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(argv, argv, (one, other) => {
        const words = [
          ['tool', ...one],
          ['tool', ...other],
        ] as const;
        expect(key({ argv: words[0] }) === key({ argv: words[1] })).toBe(
          JSON.stringify(words[0]) === JSON.stringify(words[1]),
        );
      }),
    );
  });

  it('keeps a script apart from the words of one', () => {
    expect(key({ argv: ['/bin/bash', '-c', 'a > b'] })).not.toBe(key({ argv: ['/bin/bash', '-lc', 'a > b'] }));
    expect(key({ argv: ['/bin/bash', '-c', "a '>' b"] })).not.toBe(key({ argv: ['/bin/bash', '-c', 'a > b'] }));
  });
});

describe('approvals for the session', () => {
  it('forget the oldest when there are too many', () => {
    const approvals = new SessionApprovals();
    for (let at = 0; at < 1_001; at += 1) approvals.add(`${at}`);

    expect([approvals.has('0'), approvals.has('1'), approvals.has('1000')]).toEqual([false, true, true]);
  });
});
