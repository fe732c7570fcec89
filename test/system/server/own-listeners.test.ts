import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectTcp, createServer } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ManagedNetwork } from '../../../src/host/network/index.ts';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { networkRules } from '../../support/network-rules.ts';
import { portOf } from '../../support/peer-probe.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';

const everywhere = { domains: { '*': 'allow' }, allowLocalBinding: true } as const;

/** The status that a proxy answers with. */
async function statusOf(port: number, request: string): Promise<number> {
  const socket = connectTcp({ host: '127.0.0.1', port });
  socket.write(`${request} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
  return Number((await readText(socket)).split(' ', 2)[1]);
}

describe('managed proxies', () => {
  it('lead to no listener of this product, whatever it is called and whatever the policy allows', async () => {
    await using fixture = await SandboxFixture.open(accounts[0]!);
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end());
    await using network = await ManagedNetwork.start({
      settings: { proxy: networkRules({ ...everywhere, enableSocks5: true }) },
      ask: () => Promise.reject(new Error('no question was expected')),
      report: () => {},
      resolve: async (host) =>
        host.endsWith('.invalid') ? ['127.0.0.1'] : [host === 'localhost' ? '127.0.0.1' : host],
    });
    const proxy = Number(new URL(network.environment.HTTP_PROXY!).port);
    const server = portOf(fixture.server.url);

    for (const host of ['127.0.0.1', 'localhost', 'innocent.invalid', '0.0.0.0', '[::ffff:127.0.0.1]']) {
      expect([host, await statusOf(proxy, `GET http://${host}:${server}/readyz`)]).toEqual([host, 403]);
      expect([host, await statusOf(proxy, `CONNECT ${host}:${server}`)]).toEqual([host, 403]);
    }
    expect(await statusOf(proxy, `GET http://127.0.0.1:${proxy}/`)).toBe(403);
    expect(await statusOf(proxy, `GET http://innocent.invalid:${upstream.port}/`)).toBe(200);
  });

  it('of a command do not lead to its own server', async () => {
    await using fixture = await SandboxFixture.open(accounts[0]!);
    const ask = `exec 3<>/dev/tcp/127.0.0.1/\${HTTP_PROXY##*:}; printf 'GET http://127.0.0.1:${portOf(fixture.server.url)}/readyz HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n' >&3; head -1 <&3`;

    const child = await fixture.client.start({
      argv: ['/bin/bash', '-c', ask],
      networkProxy: { proxy: networkRules(everywhere) },
    });
    await child.closed();

    expect(child.output('stdout')).toContain('403');
  });
});

describe('a listener of this product', () => {
  const built = fileURLToPath(new URL('../../../dist/host/peers/index.js', import.meta.url));
  /** Prints for each address whether it leads to a port that is announced. */
  const script = `
    const { announceListener, leadsToOwnListener } = await import(${JSON.stringify(built)});
    announceListener('work', 4321);
    const answers = await Promise.all(process.argv.slice(1).map((each) => leadsToOwnListener([each], 4321, ['work'])));
    console.log(JSON.stringify(answers));`;
  const idle = '192.0.2.7';

  it.each([
    [[idle, `::ffff:${idle}`, '0.0.0.0', '::'], true],
    [['192.0.2.8', '::ffff:192.0.2.8', '2001:db8::1'], false],
  ])('is met on an address of an interface that is down: %j is one, %s', (addresses, isOwn) => {
    const inNetwork = `ip address add ${idle}/32 dev lo && exec "$@"`; // which is down in a new network
    const node = [process.execPath, '--input-type=module', '-e', script, '--', ...addresses];
    const unshared = ['--map-root-user', '--net', 'sh', '-c', inNetwork, 'sh', ...node];

    expect(JSON.parse(execFileSync('unshare', unshared, { encoding: 'utf8' }))).toEqual(addresses.map(() => isOwn));
  });
});

describe('the ports that a sandbox with a managed network is given', () => {
  const dial = (port: number | string): string =>
    `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET /readyz HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n' >&3 && head -1 <&3`;

  it('do not lead to a listener of this product', async () => {
    await using fixture = await SandboxFixture.open(accounts[0]!);
    const port = portOf(fixture.server.url);

    const outcome = await fixture.run(dial(port), {
      env: { HTTP_PROXY: `http://127.0.0.1:${port}` },
      start: { enforceManagedNetwork: true },
    });

    expect(outcome.stdout).toBe('');
  });

  it('are those of its proxies, and none that a variable it inherits names', async () => {
    const other = createServer((socket) => socket.end('HTTP/1.1 200 reached\r\n')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    await using fixture = await SandboxFixture.open(accounts[0]!, { EXTRA_PROXY: `http://127.0.0.1:${port}` });
    const envPolicy = { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };

    const outcome = await fixture.run(`echo $EXTRA_PROXY; ${dial(port)}`, {
      start: {
        envPolicy,
        enforceManagedNetwork: true,
        networkProxy: { proxy: networkRules(everywhere) },
      },
    });
    other.close();

    expect(outcome.stdout).toBe(`http://127.0.0.1:${port}\n`);
  });
});
