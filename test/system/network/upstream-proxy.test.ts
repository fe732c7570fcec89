import { execPath } from 'node:process';
import { describe, expect, it } from 'vitest';
import type { NetworkProxyRules } from '../../../src/protocol/index.ts';
import { runCommand } from '../../support/command.ts';
import { ForwardProxy } from '../../support/forward-proxy.ts';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { networkRules } from '../../support/network-rules.ts';
import { startServer } from '../../support/server.ts';
import { TestAuthority } from '../../support/test-authority.ts';
import { base64, connect } from '../../support/wire-client.ts';

const FLAG = '--proxy-private-ips-via-upstream';
const VARIABLE = 'CODEX_EXEC_SERVER_PROXY_PRIVATE_IPS_VIA_UPSTREAM';

/** A program that sends what each line of its input asks for (KIND HOST:PORT) through its proxies, and prints what came. */
const asker = `
  const { connect } = require('node:net');
  const [http, socks] = [process.env.HTTP_PROXY, process.env.ALL_PROXY].map((url) => new URL(url).port);
  const request = (target) => 'GET ' + target + ' HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n';
  const messages = {
    GET: (where) => request('http://' + where + '/x'),
    CONNECT: (where) => 'CONNECT ' + where + ' HTTP/1.1\\r\\n\\r\\n' + request('/'),
    SOCKS: (where) => {
      const [, host, port] = /(.*):(.*)/.exec(where);
      const head = Buffer.from([5, 1, 0, 5, 1, 0, 3, host.length, ...Buffer.from(host), port >> 8, port & 255]);
      return Buffer.concat([head, Buffer.from(request('/'))]);
    },
  };
  require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
    const [kind, where] = line.split(' ');
    const socket = connect(kind === 'SOCKS' ? socks : http, '127.0.0.1');
    socket.write(messages[kind](where));
    const answer = Buffer.concat(await socket.toArray()).toString('latin1');
    const status = /^HTTP\\S+ (\\d+)/.exec(answer)?.[1] ?? '-';
    console.log(status, answer.slice(answer.lastIndexOf('\\r\\n\\r\\n') + 4).split('\\n')[0].slice(0, 60));
  });
`;

interface Situation {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly rules?: Partial<NetworkProxyRules>;
}

const noProxies = Object.fromEntries(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [
    [name, undefined],
    [name.toLowerCase(), undefined],
  ]),
);

/** What the program prints for each line, in a server with these flags and variables. */
async function answers({ args = [], env = {}, rules }: Situation, lines: readonly string[]): Promise<string[]> {
  await using server = await startServer({ args, env: { ...noProxies, ...env } });
  await using client = await connect(server.url);
  const proxy = networkRules({
    enableSocks5: true,
    allowUpstreamProxy: true,
    allowLocalBinding: true,
    domains: { '*': 'allow' },
    ...rules,
  });
  const process = await client.start({
    processId: 'asker',
    argv: [execPath, '-e', asker],
    pipeStdin: true,
    networkProxy: { proxy },
  });
  const printed = () => process.output('stdout').split('\n').slice(0, -1);
  for (const [at, line] of lines.entries()) {
    await client.call('process/write', { processId: 'asker', writeId: `${at}`, chunk: base64(`${line}\n`) });
    await process.until(() => printed().length > at);
  }
  return printed();
}

const startOrigin = () => HttpUpstream.start((_, outgoing) => outgoing.end('the origin'));

describe('a process that may use the upstream proxy of the server', () => {
  it('goes through it to names and public addresses', async () => {
    await using origin = await startOrigin();
    await using proxy = await ForwardProxy.start(origin.port);

    const got = await answers({ env: { HTTP_PROXY: proxy.url } }, [
      'GET name.invalid:81',
      'CONNECT name.invalid:443',
      'GET 8.8.8.8:81',
      'CONNECT [2001:4860:4860::8888]:443',
    ]);

    expect(got).toEqual([
      '200 proxied http://name.invalid:81/x for name.invalid:81',
      '200 the origin',
      '200 proxied http://8.8.8.8:81/x for 8.8.8.8:81',
      '200 the origin',
    ]);
    expect(proxy.asked).toEqual([
      'GET http://name.invalid:81/x',
      'CONNECT name.invalid:443',
      'GET http://8.8.8.8:81/x',
      'CONNECT [2001:4860:4860::8888]:443',
    ]);
  });

  it('speaks TLS to one with an https: address, and trusts it as any other server', async () => {
    using authority = new TestAuthority();
    await using origin = await startOrigin();
    await using proxy = await ForwardProxy.start(origin.port, authority.issue('IP:127.0.0.1'));
    const lines = ['GET name.invalid:81', 'CONNECT name.invalid:443'];
    const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url, SSL_CERT_FILE: undefined };

    expect(await answers({ env: { ...env, CODEX_CA_CERTIFICATE: '' } }, lines)).toEqual([
      '502 upstream failure',
      '502 upstream failure',
    ]);
    expect(proxy.asked).toEqual([]);
    expect(await answers({ env: { ...env, CODEX_CA_CERTIFICATE: authority.file } }, lines)).toEqual([
      '200 proxied http://name.invalid:81/x for name.invalid:81',
      '200 the origin',
    ]);
    expect(proxy.asked).toEqual(['GET http://name.invalid:81/x', 'CONNECT name.invalid:443']);
  });

  it.each([
    ['the flag', { args: [FLAG] }],
    ['the variable', { env: { [VARIABLE]: 'true' } }],
  ])('with %s goes through it to private addresses', async (_, { args = [], env = {} }: Situation) => {
    await using origin = await startOrigin();
    await using proxy = await ForwardProxy.start(origin.port);
    const addresses = ['10.1.2.3', '172.16.0.1', '192.168.3.4', '100.64.0.1', '[fd12::1]', '[::ffff:10.0.0.1]'];

    const got = await answers(
      { args, env: { HTTP_PROXY: proxy.url, ...env } },
      addresses.flatMap((address) => [`GET ${address}:81`, `CONNECT ${address}:81`]),
    );

    expect(got.filter((_, at) => at % 2 === 1)).toEqual(addresses.map(() => '200 the origin'));
    expect(got.filter((_, at) => at % 2 === 0)).toEqual(addresses.map(() => expect.stringMatching(/^200 proxied /)));
  });

  it('reaches loopback without it, and everything by SOCKS', async () => {
    await using origin = await startOrigin();
    await using proxy = await ForwardProxy.start(origin.port);
    const { port } = origin;

    const got = await answers({ args: [FLAG], env: { HTTP_PROXY: proxy.url } }, [
      `GET 127.0.0.1:${port}`,
      `CONNECT 127.0.0.1:${port}`,
      `GET localhost:${port}`,
      `CONNECT 2130706433:${port}`,
      `SOCKS 127.0.0.1:${port}`,
    ]);

    expect(got.map((line) => line.split(' ').slice(-2).join(' '))).toEqual(got.map(() => 'the origin'));
    expect(proxy.asked).toEqual([]);
  });

  it('never goes around a proxy that fails', async () => {
    const got = await answers({ args: [FLAG], env: { HTTP_PROXY: 'http://127.0.0.1:1' } }, [
      'GET 10.1.2.3:81',
      'CONNECT 10.1.2.3:81',
    ]);

    expect(got).toEqual(['502 upstream failure', '502 upstream failure']);
  });

  it('reaches nothing more than its policy allows', async () => {
    await using origin = await startOrigin();
    await using proxy = await ForwardProxy.start(origin.port);
    const domains = { '10.1.2.3': 'allow', '*.invalid': 'allow' } as const;

    const got = await answers(
      { args: [FLAG], env: { HTTP_PROXY: proxy.url }, rules: { domains, allowLocalBinding: false } },
      ['GET 10.1.2.3:81', 'GET 10.1.2.4:81', 'CONNECT 10.1.2.4:81', 'GET name.invalid:81', 'GET 8.8.8.8:81'],
    );

    expect(got.map((line) => line.split(' ')[0])).toEqual(['200', '403', '403', '403', '403']);
    expect(proxy.asked).toEqual(['GET http://10.1.2.3:81/x']);
  });

  it('chooses the proxy by protocol, and presents the credentials in its address', async () => {
    await using origin = await startOrigin();
    await using plain = await ForwardProxy.start(origin.port);
    await using tunnels = await ForwardProxy.start(origin.port);
    const env = { http_proxy: plain.url.replace('//', '//us%40er:p%3Ass@'), HTTPS_PROXY: `127.0.0.1:${tunnels.port}` };

    await answers({ args: [FLAG], env }, ['GET 10.1.2.3:81', 'CONNECT 10.1.2.3:81']);
    await answers({ args: [FLAG], env: { all_proxy: env.http_proxy } }, ['CONNECT 10.1.2.3:82']);

    const credentials = `Basic ${base64('us@er:p:ss')}`;
    expect(plain.asked).toEqual([`GET http://10.1.2.3:81/x ${credentials}`, `CONNECT 10.1.2.3:82 ${credentials}`]);
    expect(tunnels.asked).toEqual(['CONNECT 10.1.2.3:81']);
  });

  it('does not reach the server through a proxy of the same machine', async () => {
    await using proxy = await ForwardProxy.start(1);
    await using server = await startServer();
    const { port } = new URL(server.url);

    const got = await answers({ env: { HTTP_PROXY: proxy.url } }, [
      `GET rebound.invalid:${port}`,
      `CONNECT rebound.invalid:${port}`,
    ]);

    expect(got.map((line) => line.split(' ')[0])).toEqual(['403', '403']);
    expect(proxy.asked).toEqual([]);
  });
});

describe('the variable', () => {
  it.each(['1', 'yes', ''])('with the value %j is wrong usage', async (value) => {
    const { code, stderr } = await runCommand(['--listen', 'ws://127.0.0.1:0'], { [VARIABLE]: value });

    expect(code).toBe(2);
    expect(stderr).toContain(`invalid value '${value}' for ${VARIABLE}: expected true or false`);
  });
});
