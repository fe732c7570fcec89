import { requireCwd } from '../host/sandbox/index.ts';
import type { Handlers } from './handlers.ts';

/** Plugins, skills and configuration for agents. The code is loaded at the first request for it. */
export const discoveryHandlers: Handlers = {
  'environmentConfig/read': async (params, { host }) => {
    const { readConfig } = await import('../host/environment/read-config.ts');
    return readConfig(params, host.environment);
  },

  'capabilityRoots/discoverV1': async (params, { files }) => {
    for (const { sandbox } of params.roots) if (sandbox) requireCwd(sandbox);
    const { discoverRoots } = await import('../host/environment/capability-roots.ts');
    return discoverRoots(files, params);
  },

  'capabilities/discoverV2': async (params, { files, host }) => {
    const { discoverCapabilities } = await import('../host/environment/capabilities.ts');
    return discoverCapabilities(files, params, host.environment);
  },
};
