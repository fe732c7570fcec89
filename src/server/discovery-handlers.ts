import type { FileService } from '../host/files/index.ts';
import type { Host } from '../host/index.ts';
import { requireCwd } from '../host/sandbox/index.ts';
import type { Handlers } from './handlers.ts';

/** What is installed here for agents to use. The code is loaded when it is first asked for. */
export function discoveryHandlers(files: FileService, env: Host['environment']): Handlers {
  return {
    'environmentConfig/read': async (params) => {
      const { readConfig } = await import('../host/environment/read-config.ts');
      return readConfig(params, env);
    },

    'capabilityRoots/discoverV1': async (params) => {
      for (const { sandbox } of params.roots) if (sandbox) requireCwd(sandbox);
      const { discoverRoots } = await import('../host/environment/capability-roots.ts');
      return discoverRoots(files, params);
    },

    'capabilities/discoverV2': async (params) => {
      const { discoverCapabilities } = await import('../host/environment/capabilities.ts');
      return discoverCapabilities(files, params, env);
    },
  };
}
