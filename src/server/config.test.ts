import { expect, it } from 'vitest';
import { defaultConfig } from './config.ts';

it('a server without settings has the limits of the reference, and gives its processes two seconds to end', () => {
  expect(defaultConfig).toEqual({
    shutdownGracePeriodMs: 2000,
    maxProcessesPerConnection: 4096,
    retainedOutputBytesPerProcess: 1_048_576,
    allowDirectExec: true,
    allowPreparedExec: true,
    maxConnections: 1024,
    detachedSessionTtlMs: 30_000,
    concurrentRequests: 4096,
    proxyPrivateIpsViaUpstream: false,
    unixPeerUid: null,
    allowUsers: [],
    allowForward: [],
    noFastPath: false,
    opsListen: null,
    auditLog: null,
    auditOnFull: 'stop',
  });
});
