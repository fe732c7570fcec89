import type { Handlers } from './handlers.ts';

export const httpHandlers: Handlers = {
  'http/request': (params, { http, audit }) => {
    const { requestId, method, url } = params;
    if (URL.canParse(url)) audit.record({ event: 'http.requesting', requestId, method, origin: new URL(url).origin });
    return http.request(params); // which refuses what is no URL
  },
};
