import { describe, expect, it } from 'vitest';
import { testHost, testSandboxes } from '../../test/support/host.ts';
import { deferred, silentLogger } from '../base/index.ts';
import type { Link } from '../rpc/index.ts';
import { noAudit } from './audit/audit-log.ts';
import { defaultConfig } from './config.ts';
import { ServerCounters } from './ops/server-counters.ts';
import type { Attachment } from './session.ts';
import { Sessions } from './sessions.ts';

const wishes = { events: new Set<string>(), sandboxDenials: false, endings: false };

/** A client that counts how often it is asked for an answer. */
function client(): Attachment & { asked: number } {
  const attachment = {
    asked: 0,
    link: {
      answers: async () => {
        attachment.asked++;
        return true;
      },
    } as unknown as Link,
    call: () => Promise.reject(new Error('not asked for')),
    supersede: () => {},
  };
  return attachment;
}

describe('sessions of a server that stops', () => {
  it('wait until a client has the last events, also a client that resumed meanwhile', async () => {
    await using sessions = new Sessions({
      host: testHost({}),
      sandboxes: testSandboxes(),
      config: () => defaultConfig,
      log: silentLogger,
      audit: noAudit,
      counters: new ServerCounters(),
    });
    const [gone, back] = [client(), client()];
    const session = sessions.create(gone, wishes);
    const ended = deferred<boolean>();
    session.processes.endGracefully = () => ended.promise;
    sessions.release(session, gone, true);

    const finished = sessions.finish();
    await sessions.resume(session.id, back, wishes);
    ended.resolve(true);
    await finished;

    expect([gone.asked, back.asked]).toEqual([0, 1]);
  });
});
