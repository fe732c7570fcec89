import type { FileService } from '../files/index.ts';
import { requireCwd } from '../sandbox/index.ts';
import type { Handlers } from './handlers.ts';

/** What is installed here for agents to use. The code is loaded when it is first asked for. */
export function discoveryHandlers(files: FileService): Handlers {
  return {
    'environmentConfig/read': async (params) => {
      const { readConfig } = await import('../environment/read-config.ts');
      return readConfig(params);
    },

    'capabilityRoots/discoverV1': async (params) => {
      for (const { sandbox } of params.roots) if (sandbox) requireCwd(sandbox);
      const { discoverRoots } = await import('../environment/capability-roots.ts');
      return discoverRoots(files, params);
    },

    'capabilities/discoverV2': async (params) => {
      const { discoverCapabilities } = await import('../environment/capabilities.ts');
      return discoverCapabilities(files, params);
    },
  };
}
