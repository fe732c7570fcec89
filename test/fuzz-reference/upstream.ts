import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { HttpUpstream } from '../support/http-upstream.ts';

/** Answers that depend on nothing but the request. */
export const startUpstream = (): Promise<HttpUpstream> =>
  HttpUpstream.start((request, response) => {
    response.sendDate = false;
    response.setHeader('Connection', 'keep-alive');
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => answer(request, response, Buffer.concat(parts)));
  });

function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const { pathname, searchParams } = new URL(request.url!, 'http://upstream');
  const [, route, number] = pathname.split('/');
  switch (route) {
    case 'status':
      return void response.writeHead(Number(number), { 'X-Status': number }).end();
    case 'redirect': {
      const location = searchParams.get('to') ?? '/echo';
      return void response.writeHead(Number(number), { Location: location, 'Set-Cookie': 'on=way' }).end('moved');
    }
    case 'loop':
      return void response.writeHead(302, { Location: '/loop' }).end();
    case 'nowhere-redirect':
      return void response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
    case 'chunks':
      for (const text of ['one ', 'two ', 'three']) response.write(text);
      return void response.end();
    case 'gzip':
      return void response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync('zipped'));
    case 'cookies':
      return void response.writeHead(200, { 'Set-Cookie': ['a=b; Path=/', 'cf_clearance=c'] }).end();
    case 'repeated':
      return void response.writeHead(200, ['X-More', '1', 'x-more', '2', 'X-Latin', 'ü', 'X-Empty', '']).end('x');
    case 'empty':
      return void response.end();
    default:
      return void response.end(seen(request, body));
  }
}

/** The request as it arrived; headers of different names have no order. */
function seen({ method, url, rawHeaders }: IncomingMessage, body: Buffer): string {
  const headers = Array.from({ length: rawHeaders.length / 2 }, (_, index) => [
    rawHeaders[2 * index]!.toLowerCase(),
    rawHeaders[2 * index + 1],
  ]);
  headers.sort(([one], [other]) => (one! < other! ? -1 : one! > other! ? 1 : 0));
  return JSON.stringify({ method, url, headers, body: body.toString('base64') });
}
