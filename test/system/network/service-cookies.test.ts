import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ForwardProxy } from '../../support/forward-proxy.ts';
import { startServer } from '../../support/server.ts';
import { TestAuthority } from '../../support/test-authority.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';

const kept = [
  ...['__cf_bm', '__cflb', '__cfruid', '__cfseq', '__cfwaitingroom'],
  ...['_cfuvid', 'cf_clearance', 'cf_ob_info', 'cf_use_ob', 'cf_chl_rc_i'],
];
const others = ['session', '__Secure-next-auth.session-token', '__oailb', 'cf_other', '__cf_bmx'];

let authority: TestAuthority;
beforeAll(() => {
  authority = new TestAuthority();
});
afterAll(() => authority[Symbol.dispose]());

/** A server whose requests to any host end at one here, by way of a proxy; that one sets the cookies it is told. */
async function startWeb() {
  const names = ['chatgpt.com', '*.chatgpt.com', 'chat.openai.com', '*.chat.openai.com', 'openai.com', 'example.com'];
  const web = { cookies: [] as string[], got: [] as string[] };
  const server = createServer(authority.issue(...names.map((name) => `DNS:${name}`)), (incoming, outgoing) => {
    web.got.push(incoming.headers.cookie ?? '-');
    if (incoming.url === '/moved') outgoing.writeHead(302, { location: 'https://chatgpt.com/' });
    if (!outgoing.headersSent) outgoing.setHeader('set-cookie', web.cookies);
    outgoing.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await ForwardProxy.start((server.address() as AddressInfo).port);
  const env = {
    CODEX_CA_CERTIFICATE: authority.file,
    HTTPS_PROXY: proxy.url,
    https_proxy: undefined,
    NO_PROXY: undefined,
    no_proxy: undefined,
  };
  return Object.assign(web, {
    exec: await startServer({ env }),
    async [Symbol.asyncDispose]() {
      await this.exec.stop();
      server.close();
      server.closeAllConnections();
      await proxy[Symbol.asyncDispose]();
    },
  });
}

type Web = Awaited<ReturnType<typeof startWeb>>;

/** Makes a request whose answer sets these cookies; gives the cookies it carried itself. */
async function visit(web: Web, client: WireClient, url: string, cookies: string[] = [], headers: object[] = []) {
  web.cookies = cookies;
  const before = web.got.length;
  await client.call('http/request', { method: 'GET', url, requestId: `${before}`, headers });
  return web.got[before]!;
}

const sorted = (header: string): string[] => header.split('; ').sort();
const settings = (names: readonly string[]): string[] => names.map((name) => `${name}=1; Path=/; Secure; HttpOnly`);

describe('http/request', () => {
  it.each([
    'https://chatgpt.com/',
    'https://api.chatgpt.com/',
    'https://chat.openai.com/',
    'https://a.chat.openai.com/',
  ])('sends the service cookies of %s again, from every client, and no others', async (url) => {
    await using web = await startWeb();
    await using one = await connect(web.exec.url);
    await using other = await connect(web.exec.url);

    expect(await visit(web, one, url, settings([...kept, ...others]))).toBe('-');
    const expected = kept.map((name) => `${name}=1`).sort();
    expect(sorted(await visit(web, one, url))).toEqual(expected);
    expect(sorted(await visit(web, other, url))).toEqual(expected);
  });

  it('keeps no cookie of another host, and sends none there', async () => {
    await using web = await startWeb();
    await using client = await connect(web.exec.url);
    const wide = kept.map((name) => `${name}=1; Path=/; Domain=openai.com`);

    await visit(web, client, 'https://chatgpt.com/', settings(kept));
    for (const url of ['https://example.com/', 'https://openai.com/']) {
      expect(await visit(web, client, url, settings([...kept, ...others]))).toBe('-');
      expect(await visit(web, client, url)).toBe('-');
    }
    await visit(web, client, 'https://chat.openai.com/', wide);
    expect(await visit(web, client, 'https://chat.openai.com/')).toBe('-');
    expect(await visit(web, client, 'https://api.chatgpt.com/')).toBe('-');
  });

  it('obeys domain, path and age', async () => {
    await using web = await startWeb();
    await using client = await connect(web.exec.url);
    const look = (url: string) => visit(web, client, url).then(sorted);

    await visit(web, client, 'https://a.chatgpt.com/', [
      '__cf_bm=wide; Domain=.chatgpt.com; Path=/',
      '_cfuvid=deep; Path=/deep',
      'cf_clearance=foreign; Domain=b.chatgpt.com; Path=/',
    ]);
    expect(await look('https://a.chatgpt.com/deep/er')).toEqual(['__cf_bm=wide', '_cfuvid=deep']);
    expect(await look('https://a.chatgpt.com/deeper')).toEqual(['__cf_bm=wide']);
    expect(await look('https://b.chatgpt.com/')).toEqual(['__cf_bm=wide']);
    await visit(web, client, 'https://chatgpt.com/', [
      '__cf_bm=; Domain=chatgpt.com; Path=/; Max-Age=0',
      '__cflb=old; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
      'cf_use_ob=new; Path=/; Max-Age=1000',
    ]);
    expect(await look('https://chatgpt.com/')).toEqual(['cf_use_ob=new']);
  });

  it('sends the cookies of the client instead, if it gives any, and those of each host on the way of a redirect', async () => {
    await using web = await startWeb();
    await using client = await connect(web.exec.url);

    await visit(web, client, 'https://chatgpt.com/', settings(['__cf_bm']));
    const own = [{ name: 'Cookie', value: 'mine=1' }];
    expect(await visit(web, client, 'https://chatgpt.com/', [], own)).toBe('mine=1');
    expect(await visit(web, client, 'https://example.com/moved', [], own)).toBe('mine=1');
    expect(web.got.at(-1)).toBe('__cf_bm=1');
  });
});
