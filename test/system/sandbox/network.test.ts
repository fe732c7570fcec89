import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { constants } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accounts, type Outcome, type RunOptions, SandboxFixture } from './fixture.ts';

const { EPERM, ECONNREFUSED } = constants.errno;

/** A service that says its name and echoes what it is told. */
async function service(name: string): Promise<{ server: Server; port: number }> {
  const server = createServer((connection: Socket) => {
    connection.on('error', () => {}); // a client may leave at any time
    connection.write(`${name}\n`);
    connection.pipe(connection);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

describe.each(accounts)('a command whose network is managed, of a server run by $name', (account) => {
  let fixture: SandboxFixture;
  let proxy: Awaited<ReturnType<typeof service>>;
  let other: Awaited<ReturnType<typeof service>>;
  beforeAll(async () => {
    [fixture, proxy, other] = await Promise.all([SandboxFixture.open(account), service('proxy'), service('other')]);
  });
  beforeEach(() => fixture.reset());
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
    proxy.server.close();
    other.server.close();
  });

  const run = (script: string, options: RunOptions = {}): Promise<Outcome> =>
    fixture.run(script, {
      env: { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, ALL_PROXY: `socks5h://127.0.0.1:${proxy.port}` },
      start: { enforceManagedNetwork: true },
      ...options,
    });

  const dial = (port: number): string =>
    `perl -MSocket -e 'socket(my $s, 2, 1, 0); $! = 0; print connect($s, sockaddr_in(${port}, inet_aton("127.0.0.1"))) ? 0 : $!+0'`;

  it('reaches the proxy its variables name, both ways, until both have said everything', async () => {
    const outcome = await run(`exec 3<>/dev/tcp/127.0.0.1/${proxy.port}; echo hello >&3; head -2 <&3`);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'proxy\nhello\n', stderr: '' });
  });

  it('reaches nothing else', async () => {
    expect(await run(dial(other.port))).toMatchObject({ stdout: String(ECONNREFUSED) });
    const unix = `perl -MSocket -e '$! = 0; print socket(my $s, 1, 1, 0) ? 0 : $!+0'`;
    expect(await run(unix)).toMatchObject({ stdout: String(EPERM) });
    const interfaces = 'ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "';
    expect((await run(interfaces)).stdout.trim().split('\n').at(-1)).toBe('lo');
  });

  it('may serve itself on the loopback of its own', async () => {
    const script = `perl -MIO::Socket::INET -e '
      my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die $!;
      if (!fork) { my $c = $l->accept; print $c "inside"; exit }
      print IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $l->sockport)->getline'`;
    expect(await run(script)).toMatchObject({ exitCode: 0, stdout: 'inside' });
  });

  it('has no other descriptor, and only its own variables', async () => {
    const list = `perl -e 'opendir(D, "/proc/self/fd"); print join(" ", sort grep { /\\d/ && readlink("/proc/self/fd/$_") !~ m{/fd$} } readdir D)'`;
    expect((await run(`exec ${list}`)).stdout).toBe('0 1 2');
  });

  it('does not run without a proxy on loopback', async () => {
    for (const env of [{}, { HTTP_PROXY: 'http://192.0.2.1:3128' }, { NO_PROXY: '127.0.0.1:1' }]) {
      expect(await run('echo ran', { env: env as Record<string, string> })).toMatchObject({
        exitCode: 1,
        stdout: '',
        denied: false,
      });
    }
  });

  it('has the same network when its files are not restricted', async () => {
    const permissions = { type: 'managed', file_system: { type: 'unrestricted' }, network: 'enabled' };
    const script = `${dial(other.port)}; echo x > $O/n && cat $O/n`;
    expect(await run(script, { sandbox: { permissions } })).toMatchObject({ stdout: `${ECONNREFUSED}x\n` });
  });
});
