import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { bearerTokens } from './bearer-tokens.ts';
import type { Difference } from './matcher.ts';
import type { HttpExchange } from './transcript.ts';

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Repeats a recorded exchange on the listener's port; where it has no request, its note names the token to present. */
export async function checkHttp(exchange: HttpExchange, url: string, secret: string): Promise<Difference> {
  const { method, path, headers } = exchange.request ?? {
    method: 'GET',
    path: '/',
    headers: described(exchange, secret),
  };
  const got = await perform(new URL(path, url.replace('ws:', 'http:')), method, headers);
  const { status, body } = exchange.response;
  if (got.status === status && (body === undefined || got.body === body)) return undefined;
  const what = `${method} ${path} ${exchange.note ?? JSON.stringify(headers)}`;
  return `${what}: expected ${status} ${JSON.stringify(body)}, got ${got.status} ${JSON.stringify(got.body)}`;
}

function described({ note }: HttpExchange, secret: string): Record<string, string> {
  const token = bearerTokens[note ?? ''];
  if (!token) throw new Error(`bearer-tokens.ts describes no token "${note}"`);
  return { ...upgrade, authorization: `Bearer ${token(secret)}` };
}

async function perform(url: URL, method: string, headers: Record<string, string>) {
  return await new Promise<{ status: number; body: string }>((resolve, reject) => {
    const call = request(url, { method, headers, agent: false });
    call.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve({ status: 101, body: '' });
    });
    call.on('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    call.on('error', reject);
    call.end();
  });
}
