import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearerToken } from '../../base/index.ts';

/** Names under which this machine may be addressed; any other one is a trick of a web page with its DNS. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;

/** Lets requests of local programs that know the token pass, and answers all others itself. */
export class BearerGuard {
  readonly #digest: Buffer;

  constructor(token: string) {
    this.#digest = digestOf(token);
  }

  admits(request: IncomingMessage, response: ServerResponse): boolean {
    const { host = '', origin, authorization = '' } = request.headers;
    if (!LOOPBACK_HOST.test(host)) return refuse(response, 403, `host ${host} is not served`);
    if (origin !== undefined) return refuse(response, 403, 'requests of web pages are not served');
    const token = bearerToken(authorization) ?? '';
    if (timingSafeEqual(digestOf(token), this.#digest)) return true;
    response.setHeader('www-authenticate', 'Bearer');
    return refuse(response, 401, token === '' ? 'a bearer token is required' : 'the bearer token is wrong');
  }
}

/** Digests are of equal length, so that comparing them tells nothing. */
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

export function refuse(response: ServerResponse, status: number, message: string): false {
  const error = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null };
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(error));
  return false;
}
