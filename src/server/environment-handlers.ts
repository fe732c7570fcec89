import type { Handlers } from './handlers.ts';

export const environmentHandlers: Handlers = {
  'environment/info': (_params, { info }) => info,
  'environment/status': () => ({ status: 'ready' }),
};
