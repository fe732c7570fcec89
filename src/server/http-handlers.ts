import type { HttpClient } from '../host/network/index.ts';
import type { Handlers } from './handlers.ts';

export function httpHandlers(client: HttpClient): Handlers {
  return { 'http/request': (params) => client.request(params) };
}
