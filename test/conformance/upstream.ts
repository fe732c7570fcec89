import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The HTTP server that the recorded `http/request` calls talk to. */
export class Upstream implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Upstream> {
    const server = createServer((request, response) => void answer(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Upstream(server);
  }

  get port(): string {
    return String((this.#server.address() as AddressInfo).port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const echoed = ['x-one', 'x-env', 'content-type', 'content-length'];

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  switch (request.url) {
    case '/echo': {
      const body = Buffer.concat(await request.toArray()).toString();
      const headers = Object.fromEntries(echoed.flatMap((name) => pick(request, name)));
      response.writeHead(201, ['x-multi', 'a', 'x-multi', 'b', 'content-type', 'application/json']);
      response.end(JSON.stringify({ method: request.method, headers, body }));
      return;
    }
    case '/redir':
      response.writeHead(302, { location: '/final' }).end('moved');
      return;
    case '/slow':
      setTimeout(() => response.writeHead(200).end('slow'), 2_000).unref();
      return;
    case '/chunks':
      response.writeHead(200, { 'content-type': 'text/plain' }).write('one');
      response.end('two');
      return;
    case '/abort':
      response.writeHead(200, { 'content-length': '100' }).write('part', () => response.socket?.end());
      return;
    case '/hang':
      response.writeHead(200).write('x');
      return;
    default:
      response.writeHead(404).end(`no ${request.url}`);
  }
}

function pick(request: IncomingMessage, name: string): [string, string][] {
  const value = request.headers[name];
  return value === undefined ? [] : [[name, String(value)]];
}
