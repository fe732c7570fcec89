import type { EnvironmentInfo } from '../protocol/index.ts';
import type { Handlers } from './handlers.ts';

export function environmentHandlers(info: EnvironmentInfo): Handlers {
  return {
    'environment/info': () => info,
    'environment/status': () => ({ status: 'ready' }),
  };
}
