import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearerToken } from '../../base/index.ts';

/** Host names of this machine. A web page that has its own name resolve to this machine (DNS rebinding) sends another one. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;

/** Admits requests of local programs that know the token, and answers all others with an error. */
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

/** Digests have equal lengths, as a comparison in constant time needs. */
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

export function refuse(response: ServerResponse, status: number, message: string): false {
  const error = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null };
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(error));
  return false;
}
