import { expect, it } from 'vitest';
import { defaultConfig } from './config.ts';

it('a server that is told nothing is as generous as the reference, and ends its processes gently', () => {
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
    noFastPath: false,
  });
});
