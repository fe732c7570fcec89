import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { connect } from '../../support/wire-client.ts';
import { ask, TestFolder } from './fixture.ts';
import { loopback, type Passed, serveOn, socketAt, startPassed } from './passed-sockets.ts';

/** What a failed start has printed, and its exit code. */
async function failure(args: readonly string[], passed: Passed): Promise<{ code: number; stderr: string }> {
  const child = startPassed(args, passed);
  let stderr = '';
  child.stderr!.on('data', (chunk) => (stderr += chunk));
  const [code] = (await once(child, 'close')) as [number];
  return { code, stderr };
}

describe('a socket that a service manager passes', () => {
  it('serves clients, also those that connected before the server was there', async () => {
    const socket = await socketAt(loopback);
    const starting = serveOn(['--listen', 'systemd:'], { sockets: [socket] });
    const early = connect(`ws://127.0.0.1:${socket.port}`); // long before Node has begun to read the program
    await using server = await starting;

    await using client = await early;
    const child = await client.start({ argv: ['echo', 'served'] });

    expect(server.url).toBe(`ws://127.0.0.1:${socket.port}`);
    expect(await child.printed('served')).toBe('served\n');
  });

  it('is chosen by its name: one for clients, one for operators', async () => {
    const sockets = [await socketAt(loopback), await socketAt(loopback)];
    const args = ['--listen', 'systemd:clients', '--ops-listen', 'systemd:ops'];
    await using server = await serveOn(args, { sockets, names: ['ops', 'clients'] });

    await using _client = await connect(server.url);

    expect(server.url).toBe(`ws://127.0.0.1:${sockets[1]!.port}`);
    expect(await ask(`http://127.0.0.1:${sockets[0]!.port}`, '/healthz')).toMatchObject({ body: 'ok\n' });
  });

  it('may be a Unix socket, which stays there when the server ends', async () => {
    using folder = new TestFolder();
    const path = folder.file('passed.sock');
    const socket = await socketAt({ path });
    await using server = await serveOn(['--listen', 'systemd:'], { sockets: [socket] });

    await using client = await connect(server.url);
    await (await client.start({ argv: ['true'] })).closed();
    await client[Symbol.asyncDispose]();
    await server.stop();

    expect(server.url).toBe(`unix:${path}`);
    expect(existsSync(path)).toBe(true);
  });

  it('is open to no command, nor are the variables about it', async () => {
    const socket = await socketAt(loopback);
    const env = { NOTIFY_SOCKET: '/does/not/exist' };
    await using server = await serveOn(['--listen', 'systemd:'], { sockets: [socket], names: ['a'], env });
    await using client = await connect(server.url);
    const script = 'ls /proc/self/fd; tr "\\0" "\\n" < /proc/self/environ | grep -E "^(LISTEN_|NOTIFY_)"; echo end';

    const child = await client.start({
      argv: ['sh', '-c', script],
      envPolicy: { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
    });

    expect(await child.printed('end')).toBe('0\n1\n2\n3\nend\n'); // 3 is the directory that ls reads
    expect(await server.lineOf('service_manager.not_notified')).toMatchObject({ error: 'ENOENT' });
  });

  it.each([
    [['--listen', 'systemd:'], { pid: '1' }, 'no socket was passed to this process (LISTEN_FDS, LISTEN_PID)'],
    [
      ['--listen', 'systemd:other'],
      { names: ['one'] },
      'there is no socket other; sockets were passed with the names one',
    ],
    [['--listen', 'fd:77'], {}, 'cannot listen on descriptor 77: it is not open'],
    [['--listen', 'fd:0'], {}, 'cannot listen on descriptor 0: it is no socket but /dev/null'],
  ] as const)('%j with %j is an error that says what is missing', async (args, passed, message) => {
    const sockets = [await socketAt(loopback)];

    const { code, stderr } = await failure(args, { sockets, ...passed });

    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  });

  it('is refused beyond loopback without authentication, as any address is', async () => {
    const sockets = [await socketAt({ host: '0.0.0.0', port: 0 })];

    const { stderr } = await failure(['--listen', 'systemd:'], { sockets });

    expect(stderr).toContain('refusing to listen on 0.0.0.0 without authentication');
  });
});

/** A datagram socket, which Node does not have: prints every datagram in a line. */
const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\\0', 1))
print('bound', flush=True)
while True: print(s.recv(4096).decode().replace('\\n', ' '), flush=True)`;

describe('a service manager', () => {
  it.each([
    ['a path', (folder: TestFolder) => folder.file('notify')],
    ['an abstract name', () => `@exec-server-test-${process.pid}`],
  ])('is told when the server serves and when it stops (%s)', async (_, place) => {
    using folder = new TestFolder();
    const socket = place(folder);
    const receiver = spawn('/usr/bin/python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
    const nextLine = async () => (await lines.next()).value as string;
    expect(await nextLine()).toBe('bound');
    writeFileSync(folder.file('token'), 'a-token-of-some-length');
    await using server = await serveOn(['--print-token-url'], { sockets: [], env: { NOTIFY_SOCKET: socket } });

    const [ready] = [await nextLine()];
    await server.stop();

    expect(ready).toMatch(/^READY=1 STATUS=listening on ws:\/\/127\.0\.0\.1:\d+$/); // without its token
    expect(await nextLine()).toBe('STOPPING=1 STATUS=ending processes');
    receiver.kill();
    await once(receiver, 'exit');
  });
});
