import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const folder = new URL('../src/', import.meta.url);

/** The files that need the time of day: it is shown to a user, or compared with one that came from elsewhere. */
const timesOfDay: readonly string[] = [
  'access/login.ts',
  'access/logins.ts',
  'cli/commands/token-command.ts',
  'agent/approval/input-review.ts',
  'cli/tls-options.ts',
  'agent/approval/question-members.ts',
  'host/network/service-cookies.ts',
  'host/process/managed-process.ts',
  'host/ports/net-stream.ts',
  'relay/remote/executor-credential.ts',
  'relay/remote/registry-error.ts',
  'relay/rendezvous/service.ts',
  'relay/rendezvous/trust/file-tokens.ts',
  'relay/rendezvous/trust/jwt-verifier.ts',
  'agent/rules/store/lock-file.ts',
  'server/websocket-auth.ts',
  'agent/unified-exec/report/command-item.ts',
];

describe('durations', () => {
  it('are measured by the monotonic clock, so that a step of the time of day changes none', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));

    const users = sources.filter((file) => readFileSync(new URL(file, folder), 'utf8').includes('Date.now'));

    expect(users.filter((file) => !timesOfDay.includes(file))).toEqual([]);
  });
});
