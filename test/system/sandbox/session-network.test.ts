import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ExecServerClient, StartOptions } from '../../../src/client/index.ts';
import type { Sandbox } from '../../../src/protocol/index.ts';
import type { TrackedProcess } from '../../support/tracked-process.ts';
import { connect, connectBare, resume } from '../../support/wire-client.ts';
import { reaches } from '../process/reach.ts';
import { accounts, type Outcome, outcomeOf, type RunOptions, SandboxFixture, uri } from './fixture.ts';

const { EPERM, ECONNREFUSED, ENETUNREACH } = constants.errno;

/** An address that no machine has (RFC 5737): without a route a connection is refused before anything is sent. */
const ELSEWHERE = '192.0.2.1';

const fetched = (port: number): string => `curl -s --max-time 20 http://127.0.0.1:${port}/`;

const dial = (host: string, port: number): string =>
  `perl -MSocket -e 'socket(my $s, 2, 1, 0) or die $!; $! = 0; print connect($s, sockaddr_in(${port}, inet_aton("${host}"))) ? 0 : $!+0'`;

const socketOf = (family: number, type: number, protocol = 0): string =>
  `perl -MSocket -e '$! = 0; print socket(my $s, ${family}, ${type}, ${protocol}) ? 0 : $!+0'`;

/** Node's own HTTP server on a free port, which it prints. */
const SERVE = `const server = require("http").createServer((_, answer) => answer.end("served"));
  server.listen(0, () => console.log("port", server.address().port))`;

const SHAPES = "network: expected 'off', 'loopback', 'on' or { allow: [hosts] }";

const PROXY = {
  proxy: {
    ...{ enabled: true, enableSocks5: false, enableSocks5Udp: false, allowUpstreamProxy: false, mode: 'full' },
    ...{ dangerouslyAllowAllUnixSockets: false, allowLocalBinding: false },
  },
};

describe.each(accounts)('a command in the network of its session, of a server run by $name', (account) => {
  let fixture: SandboxFixture;
  let host: Server;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
    host = createServer((_request, answer) => answer.end('host')).listen(0, '127.0.0.1');
    await once(host, 'listening');
  });
  beforeEach(() => fixture.reset());
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
    host.close();
  });

  const LOOPBACK = { start: { network: 'loopback' } };
  const run = (script: string, options: RunOptions = LOOPBACK): Promise<Outcome> => fixture.run(script, options);
  const printed = async (script: string, options?: RunOptions): Promise<string> =>
    (await run(script, options)).stdout.trim();
  const serving = async (options: RunOptions = LOOPBACK): Promise<{ process: TrackedProcess; port: number }> => {
    const process = await fixture.start('', { ...options, argv: [globalThis.process.execPath, '-e', SERVE] });
    const [, port] = /port (\d+)/.exec(await process.printed('\n'))!;
    return { process, port: Number(port) };
  };

  it('is answered by a server that an earlier command started, and by nothing else', async () => {
    const { process, port } = await serving();
    expect(await run(fetched(port))).toMatchObject({ exitCode: 0, stdout: 'served' });
    expect(await printed(`curl -s 'http://[::1]:${port}/'; curl -s http://localhost:${port}/`)).toBe('servedserved');
    await fixture.client.call('process/terminate', { processId: process.id });
    await process.closed();
    expect(await printed(dial('127.0.0.1', port))).toBe(String(ECONNREFUSED));
  });

  it('serves one that comes by a terminal, and one whose files are not restricted', async () => {
    const { process, port } = await serving();
    expect(await printed(fetched(port), { ...LOOPBACK, tty: true })).toBe('');
    const terminal = await fixture.start(fetched(port), { ...LOOPBACK, tty: true });
    await terminal.closed();
    expect(terminal.output('pty')).toBe('served');
    const permissions = { type: 'managed', file_system: { type: 'unrestricted' }, network: 'enabled' };
    expect(await printed(fetched(port), { ...LOOPBACK, sandbox: { permissions } })).toBe('served');
    await fixture.client.call('process/terminate', { processId: process.id });
  });

  it('reaches neither another machine nor the host', async () => {
    const { port } = host.address() as AddressInfo;
    expect(await printed(dial(ELSEWHERE, 80))).toBe(String(ENETUNREACH));
    expect(await printed(dial('127.0.0.1', port))).toBe(String(ECONNREFUSED));
    expect(await printed(dial('127.0.0.1', Number(new URL(fixture.server.url).port)))).toBe(String(ECONNREFUSED));
    expect(await printed(dial('127.0.0.1', port), { start: { network: 'on' } })).toBe('0');
  });

  it('reaches no Unix socket of the host', async () => {
    const unix = createTcpServer(() => undefined).listen({
      path: join(fixture.workspace, 'socket'),
      writableAll: true,
    });
    await once(unix, 'listening');
    expect(await printed(socketOf(1, 1))).toBe(String(EPERM));
    unix.close();
  });

  it('does not reach the network of another session, whose command has the same port', async () => {
    const { process, port } = await serving();
    await using other = await connect(fixture.server.url);
    const options = { cwd: uri(fixture.workspace), sandbox: sandbox(), network: 'loopback' };
    const same = SERVE.replace('"served"', '"other"').replace('listen(0', `listen(${port}`);
    const server = await other.start({ ...options, argv: [globalThis.process.execPath, '-e', same] });
    await server.printed('port');
    const asking = await other.start({ ...options, argv: ['/bin/sh', '-c', fetched(port)] });
    expect((await outcomeOf(asking)).stdout).toBe('other');
    expect(await printed(fetched(port))).toBe('served');
    await other.call('process/terminate', { processId: server.id });
    await server.closed();
    const alone = await other.start({ ...options, argv: ['/bin/sh', '-c', dial('127.0.0.1', port)] });
    expect((await outcomeOf(alone)).stdout).toBe(String(ECONNREFUSED));
    await fixture.client.call('process/terminate', { processId: process.id });
  });

  const sandbox = () => ({
    windowsSandboxLevel: 'disabled',
    permissions: {
      type: 'managed',
      network: 'restricted',
      file_system: {
        type: 'restricted',
        entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
      },
    },
  });

  it('has no power over the network', async () => {
    const status = await printed('grep -E "^(NoNewPrivs|Cap)" /proc/self/status | cut -f2 | sort -u | tr "\\n" " "');
    expect(status).toBe('0000000000000000 1');
    const SIOCSIFFLAGS = 0x8914;
    const takeDown = `perl -MSocket -e 'socket(my $s, 2, 2, 0) or die $!; my $lo = pack("Z16 s x22", "lo", 0); $! = 0;
      print ioctl($s, ${SIOCSIFFLAGS}, $lo) ? 0 : $!+0'`;
    expect(await printed(takeDown)).toBe(String(EPERM));
    const [RAW, PACKET, NETLINK_NETFILTER] = [3, 17, 12];
    expect(await printed(socketOf(2, RAW, 1))).toBe(String(EPERM));
    expect(await printed(socketOf(PACKET, RAW))).toBe(String(EPERM));
    expect(await printed(socketOf(16, RAW, NETLINK_NETFILTER))).toBe(String(EPERM));
    expect((await run('unshare -Urn true')).exitCode).toBe(1);
    expect((await run('nsenter --net=/proc/1/ns/net true')).exitCode).toBe(1);
  });

  it('has the network of its session also where it shares the pid namespace of the server', async () => {
    await using sharing = await SandboxFixture.open(
      account,
      {},
      { args: ['--linux-sandbox-pid-namespace', 'inherit'] },
    );
    const server = await sharing.start('', { ...LOOPBACK, argv: [process.execPath, '-e', SERVE] });
    const [, port] = /port (\d+)/.exec(await server.printed('\n'))!;
    expect(await sharing.run(fetched(Number(port)), LOOPBACK)).toMatchObject({ exitCode: 0, stdout: 'served' });
  });

  it('can list its interfaces, as servers do when they start', async () => {
    const list = 'console.log(Object.keys(require("os").networkInterfaces()).join())';
    const outcome = await run('', { ...LOOPBACK, argv: [process.execPath, '-e', list] });
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'lo\n' });
  });

  it('has its own processes and three descriptors, like every sandboxed command', async () => {
    expect((await printed('ls /proc | grep "^[0-9]"')).split('\n').length).toBeLessThanOrEqual(5);
    const list = `perl -e 'opendir(D, "/proc/self/fd"); print join(" ", sort grep { /\\d/ && readlink("/proc/self/fd/$_") !~ m{/fd$} } readdir D)'`;
    expect(await printed(`exec ${list}`)).toBe('0 1 2');
  });

  it('can start the first server of a session twice at once', async () => {
    await using other = await connect(fixture.server.url);
    const options = { cwd: uri(fixture.workspace), sandbox: sandbox(), network: 'loopback' };
    const link = { ...options, argv: ['readlink', '/proc/self/ns/net'] };
    const both = await Promise.all([other.start(link), other.start(link)]);
    const [first, second] = await Promise.all(both.map(outcomeOf));
    expect(first!.stdout).toMatch(/^net:/);
    expect(second!.stdout).toBe(first!.stdout);
  });

  it('is answered by the first command of its session after the client has come back', async () => {
    const first = await connectBare(fixture.server.url);
    const sessionId = await first.initialize();
    const options = { cwd: uri(fixture.workspace), sandbox: sandbox(), network: 'loopback' };
    const server = await first.start({ ...options, processId: 's', argv: [globalThis.process.execPath, '-e', SERVE] });
    const [, port] = /port (\d+)/.exec(await server.printed('\n'))!;
    first.cut();
    await first.closed;
    await using second = await resume(fixture.server.url, sessionId);
    const asking = await second.start({ ...options, processId: 'a', argv: ['/bin/sh', '-c', fetched(Number(port))] });
    expect((await outcomeOf(asking)).stdout).toBe('served');
    await second.call('process/terminate', { processId: 's' });
  });

  it('has no network when it asks for none, whatever its profile says', async () => {
    const { port } = host.address() as AddressInfo;
    const off = { start: { network: 'off' }, network: 'enabled' } as const;
    expect(await run(`exec 3<>/dev/tcp/127.0.0.1/${port}`, off)).toMatchObject({ exitCode: 1, denied: true });
    const permissions = { type: 'disabled' };
    expect(await run(`exec 3<>/dev/tcp/127.0.0.1/${port}`, { ...off, sandbox: { permissions } })).toMatchObject({
      exitCode: 1,
      denied: true,
    });
  });

  it('reaches the hosts that it names, and no others', async () => {
    const { port } = host.address() as AddressInfo;
    const named = { start: { network: { allow: ['localhost', '*.example.com'] } } };
    expect(await printed(`curl -s http://localhost:${port}/`, named)).toBe('host');
    const refused = JSON.parse(await printed(fetched(port), named));
    expect(refused).toMatchObject({ status: 'blocked', host: '127.0.0.1', reason: 'not_allowed_local' });
    expect(await printed(`${dial(ELSEWHERE, 80)}; echo; ${dial('127.0.0.1', port)}`, named)).toBe(
      `${ENETUNREACH}\n${ECONNREFUSED}`,
    );
    expect(await printed(`curl -s http://localhost:${port}/`, { start: { network: { allow: [] } } })).toContain(
      'blocked',
    );
  });

  it.each([
    ['loopback', {}, 'network: loopback needs a sandbox: send `sandbox`, or leave `network` out'],
    ['off', {}, 'network: off needs a sandbox: send `sandbox`, or leave `network` out'],
    [{ allow: ['example.com'] }, {}, 'network: allow needs a sandbox: send `sandbox`, or leave `network` out'],
    [
      'on',
      { sandbox: 'usual', enforceManagedNetwork: true },
      'network: on cannot be sent with `enforceManagedNetwork`',
    ],
    ['off', { sandbox: 'usual', managedNetwork: {} }, 'network: off cannot be sent with `managedNetwork`'],
    [{ allow: [] }, { sandbox: 'usual', networkProxy: true }, 'network: allow cannot be sent with `networkProxy`'],
    [
      { allow: ['https://a.b'] },
      { sandbox: 'usual' },
      'network: "https://a.b" cannot be allowed: expected a host such as',
    ],
    [{ allow: ['a.b', 'c.d:443'] }, { sandbox: 'usual' }, 'network: "c.d:443" cannot be allowed'],
    [{ allow: [''] }, { sandbox: 'usual' }, 'network: "" cannot be allowed'],
    [{ allow: [], deny: [] }, { sandbox: 'usual' }, 'unknown field `deny`'],
    ['none', { sandbox: 'usual' }, SHAPES],
  ] as const)('is not started with %j and %j', async (network, others, message) => {
    const more = {
      ...others,
      ...('sandbox' in others && { sandbox: sandbox() }),
      ...('networkProxy' in others && { networkProxy: PROXY }),
    };
    await expect(fixture.client.start({ argv: ['true'], network, ...more })).rejects.toThrow(message);
  });

  it('is started with the network of the host if it has no sandbox and asks for that', async () => {
    const process = await fixture.client.start({ argv: ['readlink', '/proc/self/ns/net'], network: 'on' });
    expect((await outcomeOf(process)).stdout.trim()).toBe(readlinkSync('/proc/self/ns/net'));
  });

  it('is told of the addresses that it cannot reach, if its client asks for facts', async () => {
    await using other = await connect(fixture.server.url, {
      initializeParams: { capabilities: { sandboxDenials: true } },
    });
    const options = { cwd: uri(fixture.workspace), sandbox: sandbox(), network: 'loopback' };
    const outside = await other.start({ ...options, argv: ['/bin/sh', '-c', `${dial(ELSEWHERE, 80)}; exit 3`] });
    expect((await outcomeOf(outside)).denials).toEqual([
      { kind: 'network', address: `${ELSEWHERE}:80`, program: 'perl' },
    ]);
    const inside = await other.start({ ...options, argv: ['/bin/sh', '-c', `${dial('127.0.0.1', 9)}; exit 3`] });
    expect((await outcomeOf(inside)).denials).toEqual([]);
    const lookup = await other.start({ ...options, argv: ['/bin/sh', '-c', 'getent ahosts localhost; exit 3'] });
    expect(await outcomeOf(lookup)).toMatchObject({ stdout: expect.stringContaining('STREAM'), denials: [] });
  });
});

describe.each(reaches)('a client that reaches its server $way', ({ reach }) => {
  const sandbox: Sandbox = {
    windowsSandboxLevel: 'disabled',
    permissions: {
      type: 'managed',
      network: 'restricted',
      file_system: {
        type: 'restricted',
        entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
      },
    },
  };
  const start = (client: ExecServerClient, argv: readonly string[], network: NonNullable<StartOptions['network']>) =>
    client.start({ argv, sandbox, network, env: { PATH: '/usr/bin:/bin' } });

  it('has its commands answer each other, and judges the hosts of another', async () => {
    const client = await reach();
    await using server = await start(client, [process.execPath, '-e', SERVE], 'loopback');
    let printed = '';
    for await (const { bytes } of server.output) {
      printed += Buffer.from(bytes);
      if (printed.endsWith('\n')) break;
    }
    const [, port] = /port (\d+)/.exec(printed)!;
    const asking = await start(client, ['/bin/sh', '-c', fetched(Number(port))], 'loopback');
    const { stdout, exitCode } = await asking.communicate();
    expect([Buffer.from(stdout).toString(), exitCode]).toEqual(['served', 0]);

    const named = await start(client, ['curl', '-s', `http://${ELSEWHERE}/`], { allow: ['example.com'] });
    expect(Buffer.from((await named.communicate()).stdout).toString()).toContain('"reason":"not_allowed');
    await expect(client.start({ argv: ['true'], network: 'loopback' })).rejects.toThrow('needs a sandbox');
  });
});
