import { describe, expect, it } from 'vitest';
import { descriptorsOf, eventually, holdersOf, pids } from '../support/proc.ts';
import { connect, type WebSocketClient } from '../support/wire-client.ts';
import { type Account, accounts, outcomeOf, SandboxFixture, special, uri } from '../system/sandbox/fixture.ts';

const SESSIONS = 200;
const AT_ONCE = 8;

/** Serves in the network of its session until it is killed. */
const SERVE = `use IO::Socket::INET; $| = 1;
  my $l = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 8080) or die $!;
  print readlink("/proc/self/ns/net"), "\\n";
  while (my $c = $l->accept) { print $c "served"; close $c }`;

const ASK = `use IO::Socket::INET; print IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => 8080)->getline`;

interface Using {
  readonly client: WebSocketClient;
  readonly network: string;
}

/** A session whose second command is answered by its first, which goes on. */
async function useNetwork(fixture: SandboxFixture): Promise<Using> {
  const client = await connect(fixture.server.url);
  const options = {
    network: 'loopback',
    cwd: uri(fixture.workspace),
    sandbox: {
      windowsSandboxLevel: 'disabled',
      permissions: {
        type: 'managed',
        file_system: { type: 'restricted', entries: [special('root', 'read')] },
        network: 'restricted',
      },
    },
  };
  const server = await client.start({ ...options, argv: ['perl', '-e', SERVE] });
  await server.printed('\n');
  const asking = await client.start({ ...options, argv: ['perl', '-e', ASK] });
  expect((await outcomeOf(asking)).stdout).toBe('served');
  return { client, network: server.output('stdout').trim() };
}

async function useNetworks(fixture: SandboxFixture): Promise<Using[]> {
  const used: Using[] = [];
  let begun = 0;
  const some = async () => {
    while (begun++ < SESSIONS) used.push(await useNetwork(fixture));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
  return used;
}

const open = (account: Account): Promise<SandboxFixture> =>
  SandboxFixture.open(account, { EXEC_SERVER_LOG: 'debug' }, { args: ['--detached-session-ttl-ms', '0'] });

describe.each(accounts)(`${SESSIONS} sessions with a network of their own, of a server run by $name`, (account) => {
  it.each(['their connections end', 'the server is killed'])('leave none behind when %s', async (end) => {
    await using fixture = await open(account);
    await (await useNetwork(fixture)).client[Symbol.asyncDispose]();
    await fixture.server.logged('sandboxes.prepared'); // from now on nothing of the server's own is opened
    const { pid } = fixture.server;
    const before = descriptorsOf(pid);

    const used = await useNetworks(fixture);
    const networks = new Set(used.map(({ network }) => network));
    expect(networks.size).toBe(SESSIONS);
    const living = pids(); // another namespace of a later process can get the number of one that has ended
    expect(holdersOf(networks, living).length).toBeGreaterThan(SESSIONS);

    if (end === 'the server is killed') await fixture.server.stop('SIGKILL');
    else await Promise.all(used.map(({ client }) => client[Symbol.asyncDispose]()));
    await eventually('the end of all networks', () => holdersOf(networks, living).length === 0, 200);
    if (end === 'the server is killed') return;
    await eventually('the end of all descriptors', () => descriptorsOf(pid) <= before);
  });
});
