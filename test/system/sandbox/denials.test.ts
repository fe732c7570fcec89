import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ExecServerClient } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { gone, processesWith } from '../../support/proc.ts';
import type { TrackedProcess } from '../../support/tracked-process.ts';
import { connect, connectBare, resume } from '../../support/wire-client.ts';
import {
  type Account,
  accounts,
  type Denial,
  outcomeOf,
  type RunOptions,
  readOnly,
  restrictedRead,
  SandboxFixture,
  uri,
} from './fixture.ts';

const initializeParams = { capabilities: { sandboxDenials: true } };

const readOnlyProfile = {
  type: 'managed',
  file_system: { type: 'restricted', entries: readOnly },
  network: 'restricted',
};

const exitOf = (process: TrackedProcess) => process.notices.find(({ method }) => method === 'process/exited')!.params;

/** What all processes of a family have in common. */
const markOf = (pid: number): string | undefined =>
  /^Max realtime timeout.*$/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[0];

const write = (path: string, program: string): Denial => ({ kind: 'write', path: uri(path), program });

describe.each(accounts)('a client that asks for denials, of a server run by $name', (account: Account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account, {}, { initializeParams });
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const denials = async (script: string, options: RunOptions = {}): Promise<readonly Denial[] | undefined> =>
    (await fixture.run(script, options)).denials;

  describe('is told of', () => {
    it('a file opened for writing', async () => {
      const outcome = await fixture.run('touch $O/new 2>/dev/null');
      expect(outcome).toMatchObject({ exitCode: 1, denied: true, stderr: '' });
      expect(outcome.denials).toEqual([write(join(fixture.outside, 'new'), 'touch')]);
      expect(await denials('echo x > $O/secret')).toEqual([write(join(fixture.outside, 'secret'), 'bash')]);
    });

    it('paths relative to the working directory, and to a directory that is open', async () => {
      expect(await denials('cd $O && touch ./../outside/new')).toEqual([write(join(fixture.outside, 'new'), 'touch')]);
      fixture.mkdir('outside/deep');
      fixture.write('outside/deep/x', '');
      expect(await denials('rm -rf $O/deep')).toContainEqual(write(join(fixture.outside, 'deep/x'), 'rm'));
    });

    it('a directory that is not made', async () => {
      expect(await denials('mkdir $O/d')).toEqual([write(join(fixture.outside, 'd'), 'mkdir')]);
    });

    it('a rename, from where and to where', async () => {
      expect(await denials(`perl -e 'rename "$ENV{O}/secret", "$ENV{W}/x"'`)).toEqual([
        write(join(fixture.outside, 'secret'), 'perl'),
      ]);
      expect(await denials(`perl -e 'rename "$ENV{W}/a.txt", "$ENV{O}/x"'`)).toEqual([
        write(join(fixture.outside, 'x'), 'perl'),
      ]);
    });

    it('a file that is not removed', async () => {
      expect(await denials('rm -f $O/secret')).toEqual([write(join(fixture.outside, 'secret'), 'rm')]);
      expect(await denials('rmdir $O')).toEqual([write(fixture.outside, 'rmdir')]);
    });

    it('links, modes, owners, times and lengths', async () => {
      const script = [
        'ln -s x $O/soft',
        'ln a.txt $O/hard',
        'chmod 600 $O/secret',
        'touch -h -d 2000-01-01 $O/secret',
        'chown $(id -u) $O/secret',
        `perl -e 'truncate "$ENV{O}/secret", 0'`,
      ].join('; ');
      const told = (await denials(script))!;
      expect(told.map(({ program }) => program)).toEqual(
        expect.arrayContaining(['ln', 'chmod', 'touch', 'chown', 'perl']),
      );
      expect(told.every(({ path }) => path?.startsWith(uri(fixture.outside)))).toBe(true);
    });

    it('what is protected in the workspace, and what is mounted there', async () => {
      expect(await denials('echo x >> .git/config')).toEqual([write(join(fixture.workspace, '.git/config'), 'bash')]);
      expect(await denials('mv .git elsewhere')).toEqual([write(join(fixture.workspace, '.git'), 'mv')]);
    });

    it('a path that its view does not have', async () => {
      const outcome = await fixture.run('touch $O/new', { entries: restrictedRead });
      expect(outcome).toMatchObject({ exitCode: 1, denied: true });
      expect(outcome.denials).toEqual([write(join(fixture.outside, 'new'), 'touch')]);
    });

    it('a socket that is refused', async () => {
      const outcome = await fixture.run(`perl -MSocket -e 'exit(socket(my $s, AF_INET, SOCK_STREAM, 0) ? 0 : 7)'`);
      expect(outcome).toMatchObject({ exitCode: 7, denied: true, denials: [{ kind: 'network', program: 'perl' }] });
    });

    it('a connection to a socket of the host that is refused', async () => {
      const path = join(fixture.workspace, 'socket');
      const server: Server = createServer().listen(path);
      await once(server, 'listening');
      const dial = `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); connect($s, sockaddr_un($ENV{W} . "/socket")) or exit 7'`;
      const outcome = await fixture.run(dial);
      server.close();
      expect(outcome).toMatchObject({ exitCode: 7, denied: true });
      expect(outcome.denials).toEqual([{ kind: 'network', address: `unix:${path}`, program: 'perl' }]);
    });

    it('a connection out of a network that is managed', async () => {
      const dial = `perl -MSocket -e 'socket(my $s, AF_INET, SOCK_STREAM, 0); connect($s, sockaddr_in(81, inet_aton("192.0.2.7"))) or exit 7'`;
      const outcome = await fixture.run(dial, {
        env: { HTTP_PROXY: 'http://127.0.0.1:39999' },
        start: { enforceManagedNetwork: true },
      });
      expect(outcome).toMatchObject({ exitCode: 7, denied: true });
      expect(outcome.denials).toEqual([{ kind: 'network', address: '192.0.2.7:81', program: 'perl' }]);
    });

    it('a socket where only the network is restricted', async () => {
      const permissions = { type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' };
      const script = `perl -MSocket -e 'exit(socket(my $s, AF_INET, SOCK_STREAM, 0) ? 0 : 7)'; code=$?; touch $O/new; exit $code`;
      const outcome = await fixture.run(script, { sandbox: { permissions } });
      expect(outcome).toMatchObject({ exitCode: 7, denied: true, denials: [{ kind: 'network', program: 'perl' }] });
    });

    it('a system call', async () => {
      const outcome = await fixture.run(`perl -e 'exit(syscall(101, 0, 0, 0, 0) == 0 ? 0 : 7)'`);
      expect(outcome).toMatchObject({ exitCode: 7, denied: true, denials: [{ kind: 'syscall', program: 'perl' }] });
    });

    it('refusals of a program on a terminal', async () => {
      expect(await denials('touch $O/new', { tty: true })).toEqual([write(join(fixture.outside, 'new'), 'touch')]);
    });

    it('names that are no UTF-8', async () => {
      const [denial] = (await denials(`touch $O/$'\\xff\\xfe'`))!;
      expect(denial!.path).toMatch(/^file:.*(%FF%FE|bad\/path)/);
    });

    it('a denial in a command that succeeds, which is then no reason for its end', async () => {
      const outcome = await fixture.run('touch $O/new || true');
      expect(outcome).toMatchObject({ exitCode: 0, denied: false });
      expect(outcome.denials).toEqual([write(join(fixture.outside, 'new'), 'touch')]);
    });

    it('every refusal once, and of 32 at most', async () => {
      expect(await denials('for i in 1 2 3; do : > $O/new; done')).toHaveLength(1);
      const many = (await denials('for i in $(seq 100); do : > $O/new$i; done'))!;
      expect(many).toHaveLength(32);
      expect(new Set(many.map(({ path }) => path)).size).toBe(32);
    });
  });

  describe('is not told of', () => {
    it('words that only sound like a refusal', async () => {
      expect(await fixture.run("echo 'Permission denied'; exit 1")).toMatchObject({
        exitCode: 1,
        denied: false,
        denials: [],
      });
    });

    it('what goes well, or fails for another reason', async () => {
      const script = [
        'echo x > new && mkdir d && mv new d/ && rm -r d && touch a.txt && chmod 600 a.txt',
        'mkdir sub 2>/dev/null',
        'mkdir -p /usr/bin',
        'rm -f $O/nothing',
        'echo x > missing/new',
        'echo x > /dev/null; echo x > /dev/stdout; echo x > /dev/stderr; cat < /dev/zero | head -c 1 | wc -c',
        'echo x > /proc/self/comm',
        'id; ls -l / ; getent passwd nobody',
        'exit 3',
      ].join('\n');
      expect(await fixture.run(script)).toMatchObject({ exitCode: 3, denied: false, denials: [] });
    });

    it('a file of the workspace that its owner has made read-only', async () => {
      const outcome = await fixture.run('chmod 400 a.txt; echo x >> a.txt');
      expect(outcome.exitCode).toBe(1);
      expect(outcome.denials).toHaveLength(account.uid === 0 ? 1 : 0); // root could write it but for the sandbox
    });

    it('reads that are refused, which stay a guess', async () => {
      const entries = [...restrictedRead];
      expect(await fixture.run('cat $O/secret', { entries })).toMatchObject({
        exitCode: 1,
        denied: false,
        denials: [],
      });
    });

    it('anything in processes without a sandbox', async () => {
      const process = await fixture.client.start({ argv: ['/bin/sh', '-c', 'touch /proc/x; exit 1'] });
      await process.closed();
      expect(await fixture.client.call('process/wait', { processId: process.id })).toMatchObject({ denials: [] });
    });
  });

  it('gets them from process/read and process/wait, and again after a reconnect', async () => {
    const client = await connectBare(fixture.server.url);
    const sessionId = await client.initialize(initializeParams);
    const process = await client.start({
      argv: ['/bin/sh', '-c', 'touch /new; exit 1'],
      sandbox: { permissions: readOnlyProfile, workspaceRoots: [] },
    });
    await process.closed();
    const expected = { sandboxDenied: true, denials: [{ kind: 'write', path: 'file:///new', program: 'touch' }] };
    const ask = async (from: typeof client) => [
      await from.call('process/read', { processId: process.id }),
      await from.call('process/wait', { processId: process.id }),
    ];
    expect(await ask(client)).toMatchObject([expected, expected]);
    client.cut();
    await client.closed;

    const again = await resume(fixture.server.url, sessionId, { initializeParams });
    expect(await ask(again)).toMatchObject([expected, expected]);
    again.cut();
    await again.closed;

    const silent = await resume(fixture.server.url, sessionId);
    for (const answer of await ask(silent)) expect(answer).not.toHaveProperty('denials');
    await silent[Symbol.asyncDispose]();
  });

  it('gets them while the process runs', async () => {
    const process = await fixture.start('touch $O/new; echo done; read', { stdin: 'open' });
    await process.printed('done');
    const { denials } = await fixture.client.call<{ denials: unknown }>('process/read', { processId: process.id });
    expect(denials).toEqual([write(join(fixture.outside, 'new'), 'touch')]);
    await fixture.client.call('process/terminate', { processId: process.id });
    await process.closed();
  });

  it('is the only one for whom commands are watched, and then they can have no listener of their own', async () => {
    await using other = await connect(fixture.server.url);
    // The first process of a sandbox tries to install a listener when it is told to probe.
    const start = (client: typeof other) =>
      client.start({
        argv: ['/dev/.exec-server', 'probe'],
        sandbox: { permissions: readOnlyProfile, workspaceRoots: [] },
      });
    const unwatched = await start(other);
    expect(await unwatched.exited()).toBe(0);
    const watched = await start(fixture.client);
    expect(await watched.exited()).toBe(1);
    await Promise.all([unwatched.closed(), watched.closed()]);
    expect(exitOf(unwatched)).not.toHaveProperty('denials');
    expect(exitOf(watched)).toMatchObject({ denials: [] });
    expect(await other.call('process/read', { processId: unwatched.id })).not.toHaveProperty('denials');
    expect(await other.call('process/wait', { processId: unwatched.id })).not.toHaveProperty('denials');
  });

  it('asks by an option of the client library, which gives them with the end of a process', async () => {
    const run = async (sandboxDenials: boolean) => {
      await using client = await ExecServerClient.connect(webSocket(fixture.server.url), { sandboxDenials });
      const root = PathUri.parse(uri(fixture.workspace));
      const process = await client.start({
        argv: ['/bin/sh', '-c', `touch ${fixture.outside}/new 2>/dev/null; exit 1`],
        cwd: fixture.workspace,
        env: { PATH: '/usr/bin:/bin' },
        sandbox: {
          permissions: {
            type: 'managed',
            network: 'restricted',
            file_system: {
              type: 'restricted',
              entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
            },
          },
          windowsSandboxLevel: 'disabled',
          cwd: root,
          workspaceRoots: [root],
        },
      });
      return await process.communicate();
    };
    const { sandboxDenied, denials } = await run(true);
    expect(sandboxDenied).toBe(true);
    expect(JSON.parse(JSON.stringify(denials))).toEqual([write(join(fixture.outside, 'new'), 'touch')]);
    const guessed = await run(false);
    expect(guessed.sandboxDenied).toBe(false);
    expect(guessed).not.toHaveProperty('denials');
  });

  it('tells nothing, and that in the log, when the supervisor of a command with the files of the host was killed', async () => {
    const permissions = { type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' };
    const script = 'echo $$; read; echo "touch: Operation not permitted" >&2; exit 1';
    const process = await fixture.start(script, { sandbox: { permissions }, stdin: 'open' });
    await process.until(() => process.output().includes('\n'));
    const leader = Number(process.output());
    const [supervisor] = processesWith('sandbox-stage').filter((pid) => markOf(pid) === markOf(leader));
    globalThis.process.kill(supervisor!, 'SIGKILL');
    await gone(supervisor!);
    await fixture.client.call('process/closeStdin', { processId: process.id });
    expect(await outcomeOf(process)).toMatchObject({ exitCode: 1, denials: undefined, denied: true });
    expect(await fixture.server.lineOf('denials.lost')).toMatchObject({ processId: process.id });
  });

  it('keeps no supervisor when a command with the files of the host has ended', async () => {
    const permissions = { type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' };
    const process = await fixture.start('echo $$; read', { sandbox: { permissions }, stdin: 'open' });
    await process.until(() => process.output().includes('\n'));
    const leader = Number(process.output());
    const [supervisor, ...others] = processesWith('sandbox-stage').filter((pid) => markOf(pid) === markOf(leader));
    expect(supervisor).toBeDefined();
    expect(others).toEqual([]);
    await fixture.client.call('process/closeStdin', { processId: process.id });
    await process.closed();
    await gone(supervisor!);
  });
});
