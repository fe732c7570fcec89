import type { Handlers } from './handlers.ts';

export const httpHandlers: Handlers = {
  'http/request': (params, { http }) => http.request(params),
};
