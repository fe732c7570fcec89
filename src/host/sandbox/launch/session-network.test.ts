import { chmodSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectIn } from '../../../../test/support/connect-in.ts';
import { policyOf, readOnlyPolicy } from '../../../../test/support/policy.ts';
import { type Child, type Command, type NetworkNamespace, nextOwnMark, spawn } from '../../os/index.ts';
import { SandboxHost } from '../sandbox-host.ts';
import { InstalledBubblewrap } from './bubblewrap.ts';
import { confine } from './confine.ts';
import { NetworkMaker, SessionNetwork } from './session-network.ts';

const sandboxes = new SandboxHost({ environment: {} });
const mark = () => nextOwnMark('helpers');

/** A command in the network of a session. */
function start(argv: readonly string[], sessionNetwork: NetworkNamespace, policy = readOnlyPolicy): Child & Disposable {
  const io = { type: 'pipe', stdin: 'closed' } as const;
  const command: Command = { argv, cwd: '/', env: { PATH: '/usr/bin:/bin' }, io };
  const confined = confine(sandboxes, command, policy, { sessionNetwork });
  const child = spawn({ ...confined.command, mark: mark() });
  confined.started();
  return Object.assign(child, { [Symbol.dispose]: () => confined.claim[Symbol.dispose]() });
}

async function printed(child: Child): Promise<string> {
  for await (const event of child.events) {
    if (event.type !== 'output') continue;
    const { buffer, start, end } = event.chunk;
    return Buffer.from(buffer.toString('latin1', start, end), 'base64').toString();
  }
  return '';
}

const SERVE = `require("http").createServer((_, answer) => answer.end("served"))
  .listen(0, "127.0.0.1", function () { console.log(this.address().port) })`;

/** The descriptors of network namespaces that this process has open. */
const openNetworks = (): readonly string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith('net:') ? [target] : [];
    } catch {
      return []; // the one that reads the directory
    }
  });

describe('the network of a session', () => {
  it('is made once, and is closed with the session', async () => {
    const network = new SessionNetwork(sandboxes.networks, mark);
    expect([network.existing, openNetworks()]).toEqual([undefined, []]);
    const [first, second] = await Promise.all([network.namespace(), network.namespace()]);
    expect([second, network.existing, await network.namespace()]).toEqual([first, first, first]);
    expect(openNetworks()).toHaveLength(1);
    network[Symbol.dispose]();
    expect([network.existing, openNetworks()]).toEqual([undefined, []]);
    expect(() => first.descriptor).toThrow('closed');
  });

  it('is closed too if the session ends while it is being made', async () => {
    const network = new SessionNetwork(sandboxes.networks, mark);
    const making = network.namespace();
    network[Symbol.dispose]();
    await making;
    expect([network.existing, openNetworks()]).toEqual([undefined, []]);
  });

  it('can be connected to from outside, and tells what listens there', async () => {
    using network = new SessionNetwork(sandboxes.networks, mark);
    const namespace = await network.namespace();
    expect(namespace.listening()).toEqual([]);
    using server = start([process.execPath, '-e', SERVE], namespace);
    const port = Number(await printed(server));
    expect(namespace.listening()).toMatchObject([{ host: '127.0.0.1', port }]);

    const socket = await connectIn(namespace, '127.0.0.1', port);
    socket.end('GET / HTTP/1.0\r\n\r\n');
    const answer: Buffer[] = [];
    for await (const part of socket) answer.push(part as Buffer);
    expect(Buffer.concat(answer).toString()).toMatch(/^HTTP\/1.1 200 OK.*served$/s);
    await expect(connectIn(namespace, '::1', port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('is joined under every policy', async () => {
    using network = new SessionNetwork(sandboxes.networks, mark);
    const namespace = await network.namespace();
    const own = readlinkSync(`/proc/self/fd/${namespace.descriptor}`);
    const policies = [
      readOnlyPolicy,
      { ...readOnlyPolicy, network: 'enabled' as const },
      policyOf([], { unrestricted: true }),
      policyOf([], { unrestricted: true, network: 'enabled' }),
      policyOf([
        ['/tmp', 'deny'],
        ['/', 'read'],
      ]),
    ];
    for (const policy of policies) {
      using child = start(['readlink', '/proc/self/ns/net'], namespace, policy);
      expect(await printed(child)).toBe(`${own}\n`);
    }
  });
});

describe('where no such network can be made', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'exec-server-network-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A bubblewrap that makes sandboxes, except where a condition of the shell holds for its arguments. */
  function bubblewrapBut(condition: string, reason = 'No permissions to create new namespace'): InstalledBubblewrap {
    const path = join(folder, 'bwrap');
    const refusal = `echo "bwrap: ${reason}" >&2; exit 1`;
    writeFileSync(path, `#!/bin/sh\nif ${condition}; then ${refusal}; fi\nexec /usr/bin/bwrap "$@"\n`);
    chmodSync(path, 0o755);
    return new InstalledBubblewrap([path]);
  }

  it.runIf(process.getuid!() === 0).each([
    ['a namespace', 'case " $* " in *" network 3 "*) true;; *) false;; esac'],
    ['a sandbox inside of it', 'case " $* " in *" --unshare-net "*) false;; *) true;; esac'],
  ])(
    'the error of %s names another way, and nothing stays open (only root makes a bubblewrap that is used)',
    async (_, refused) => {
      using network = new SessionNetwork(new NetworkMaker(bubblewrapBut(refused)), mark);
      for (let time = 0; time < 2; time++) {
        await expect(network.namespace()).rejects.toThrow(
          'network: loopback cannot be made here (bwrap: No permissions to create new namespace); send network: off',
        );
      }
      expect([network.existing, openNetworks()]).toEqual([undefined, []]);
    },
  );

  it.runIf(process.getuid!() === 0)(
    'it is made all the same if only a procfs cannot be mounted (only root makes a bubblewrap that is used)',
    async () => {
      const refused = 'case " $* " in *" --proc /proc "*) true;; *) false;; esac';
      const maker = new NetworkMaker(bubblewrapBut(refused, "Can't mount proc on /newroot/proc"));
      using network = new SessionNetwork(maker, mark);
      expect((await network.namespace()).listening()).toEqual([]);
    },
  );

  it('a missing bubblewrap is named', async () => {
    using network = new SessionNetwork(new NetworkMaker(new InstalledBubblewrap([])), mark);
    await expect(network.namespace()).rejects.toThrow('bubblewrap is not installed; fix: apt-get install');
  });
});
