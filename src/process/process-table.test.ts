import { describe, expect, it } from 'vitest';
import { silentLogger } from '../base/index.ts';
import { claimServerNumber, familyMark } from '../os/index.ts';
import { PathUri } from '../protocol/index.ts';
import { CommandLaunchers } from '../sandbox/index.ts';
import { ProcessTable, type ProcessTableOptions } from './process-table.ts';

async function tableWithClosed(closedProcessMs: number, detachedMs?: number) {
  const server = claimServerNumber();
  let marks = 0;
  const table = new ProcessTable({
    audience: { send: () => {}, probe: () => {}, wantsDenials: false },
    ownEnvironment: {},
    settings: () => ({
      retainedOutputBytesPerProcess: 1024,
      maxProcessesPerConnection: 10,
      allowDirectExec: true,
      allowPreparedExec: true,
    }),
    closedProcessMs,
    launchers: new CommandLaunchers(),
    log: silentLogger,
    nextMark: () => familyMark(server, 1, ++marks),
  } as unknown as ProcessTableOptions);
  if (detachedMs !== undefined) table.detached(detachedMs);
  const params = {
    processId: 'p',
    argv: ['true'],
    cwd: PathUri.parse('/'),
    env: { PATH: '/usr/bin:/bin' },
    tty: false,
  };
  table.start({ ...params, pipeStdin: false } as unknown as Parameters<ProcessTable['start']>[0]);
  await table.get('p')!.wait({}, new AbortController().signal);
  return table;
}

const later = () => new Promise((resolve) => setTimeout(resolve, 300)); // many times as long as a closed process is kept here

describe('a closed process', () => {
  it('is forgotten after a while', async () => {
    await using table = await tableWithClosed(10);
    await later();
    expect(table.get('p')).toBeUndefined();
  });

  it('that ended while its session was detached is kept for as long as the session can be resumed', async () => {
    await using table = await tableWithClosed(10, 60_000);
    await later();
    expect(table.get('p')).toBeDefined();
  });

  it('that ended while its session was detached is forgotten as usual once it is attached', async () => {
    await using table = await tableWithClosed(10, 60_000);
    table.attached();
    await later();
    expect(table.get('p')).toBeUndefined();
  });
});
