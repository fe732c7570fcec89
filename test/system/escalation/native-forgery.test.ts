import { describe, expect, it } from 'vitest';
import { Call, type CallOptions, call } from './native-fixture.ts';

// What a program in the sandbox can do to the socket it has inherited.
const forger = `
import array, json, os, resource, socket, struct, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
handshake = socket.socket(fileno=int(os.environ['CODEX_ESCALATE_SOCKET']))
def announce(fds, content=b'\\0'): socket.send_fds(handshake, [content], fds)
def session():
    ours, theirs = socket.socketpair()
    announce([theirs.fileno()])
    return ours
def frame(text): return struct.pack('<I', len(text)) + text
def send(stream, value, fds=()):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    socket.send_fds(stream, [frame(text)], fds)
def receive(stream):
    head = stream.recv(4, socket.MSG_WAITALL)
    return json.loads(stream.recv(struct.unpack('<I', head)[0], socket.MSG_WAITALL)) if head else None
request = {'file': '/bin/echo', 'argv': ['echo', 'forged'], 'workdir': '/', 'env': {}}
`;

/** Runs a forger and then an ordinary command, which must work. */
async function forged(code: string, options: CallOptions = {}) {
  const script = `python3 -c "$0"; /bin/echo after`;
  return call('', { shell: '/bin/bash', argv: ['bash', '-c', script, forger + code], ...options });
}

const reported = (events: readonly { type: string; text?: string }[]): (string | undefined)[] =>
  events.filter(({ type }) => type === 'noted').map(({ text }) => text);

describe('the broker withstands', () => {
  it('datagrams without a descriptor, with two, with one that is no stream, and long ones', async () => {
    const { stdout, events } = await forged(`
announce([])
announce([0, 1])
announce([0])
announce([handshake.fileno()])
announce([], b'x' * 9000)
stream = session(); send(stream, request); print(receive(stream)['action'])`);

    expect(stdout).toBe('Run\nafter\n');
    expect(reported(events)).toEqual([0, 2, 1, 1, 0].map((count) => `a packet with ${count} descriptors dropped`));
  });

  it.each([
    ['no JSON', `b'{'`],
    ['no object', '[]'],
    ['a missing member', `{'file': '/bin/echo', 'argv': ['echo'], 'workdir': '/'}`],
    ['no arguments', `{**request, 'argv': []}`],
    ['a number for a string', `{**request, 'argv': ['echo', 1]}`],
    ['a relative directory', `{**request, 'workdir': 'x'}`],
    ['a NUL', `{**request, 'file': '/bin/echo\\0x'}`],
    ['raw bytes of another kind', `{**request, 'raw': 7}`],
    ['text that is not UTF-8', `b'{"file":"\\xff","argv":["a"],"workdir":"/","env":{}}'`],
  ])('a request with %s', async (_what, request) => {
    const { stdout } = await forged(`stream = session(); send(stream, ${request}); print(receive(stream))`);

    expect(stdout).toBe("{'action': {'Deny': {'reason': 'the request cannot be understood'}}}\nafter\n");
  });

  it('a request that shows one thing and means another', async () => {
    const raw = `{'file': 'L2Jpbi9ybQ==', 'argv': ['cm0=', 'LXJm'], 'workdir': 'Lw==', 'env': []}`;
    const { requests } = await forged(`stream = session(); send(stream, {**request, 'raw': ${raw}}); receive(stream)`);

    expect(requests[0]).toMatchObject({ file: '/bin/rm', argv: ['rm', '-rf'], contradictory: true });
  });

  it.each([
    ['descriptors that are not listed', `{'fds': [0]}, [0, 1]`],
    ['listed descriptors that are missing', `{'fds': [0, 1]}, [0]`],
    ['one place for two descriptors', `{'fds': [1, 1]}, [0, 1]`],
    ['negative places', `{'fds': [-1]}, [0]`],
    ['no list', `{}, []`],
    ['no JSON', `b'x', []`],
  ])('escalations with %s', async (_what, frame) => {
    const { stdout, events } = await forged(
      `stream = session(); send(stream, request); print(receive(stream)['action']); send(stream, ${frame}); print(receive(stream))`,
      { decide: ({ argv }) => (argv[1] === 'forged' ? 'escalate' : 'run') },
    );

    expect(stdout).toBe('Escalate\nNone\nafter\n');
    expect(events.filter(({ type }) => type === 'gone' || type === 'running')).toEqual([{ type: 'gone', id: 1 }]);
  });

  it('frames without an end', async () => {
    const { stdout } = await forged(`
stream = session(); stream.sendall(struct.pack('<I', 0xffffffff)); print(stream.recv(1))
stream = session(); stream.sendall(struct.pack('<I', 0)); print(stream.recv(1))
stream = session(); stream.sendall(b'\\x10'); stream.close()`);

    expect(stdout).toBe("b''\nb''\nafter\n");
  });

  it('more sessions than it can take', async () => {
    const code = `
streams = [session() for _ in range(1030)]
for stream in streams: send(stream, request)
denied = [receive(stream)['action'] for stream in streams[1024:]]
print(denied[0]['Deny']['reason'], len(denied))`;
    const { stdout, requests } = await forged(code, {
      decide: ({ argv }) => (argv[1] === 'forged' ? 'ignore' : 'run'),
    });

    expect(stdout).toBe('too many concurrent executions 6\nafter\n');
    expect(requests.length).toBe(1024);
  });

  it('requests that are too large to keep many of', async () => {
    const code = `
def ask():
    stream = session()
    text = json.dumps({**request, 'argv': ['echo', 'forged', 'x' * (48 << 20)]}).encode()
    stream.sendall(frame(text))
    return stream
streams = [ask() for _ in range(3)]
print(receive(streams[2])['action']['Deny']['reason'])`;
    const { stdout, requests } = await forged(code, {
      decide: ({ argv }) => (argv[1] === 'forged' ? 'ignore' : 'run'),
    });

    expect(stdout).toBe('too many concurrent executions\nafter\n');
    expect(requests).toHaveLength(2);
  });

  it('signals to others by way of an escalated command', async () => {
    const script = 'trap "exit 3" USR1; echo ready; while :; do sleep 0.01; done';
    const code = `
stream = session()
send(stream, {**request, 'file': '/bin/sh', 'argv': ['sh', '-c', '${script}'], 'env': {'PATH': '/bin'}})
reading, writing = os.pipe()
receive(stream); send(stream, {'fds': [1]}, [writing]); os.read(reading, 6)
for number in [0, -1, 65, 1.5, 'x', None, [10]]: send(stream, {'signal': number})
send(stream, {'signal': 10})
print(receive(stream))`;
    const { stdout } = await forged(code, { decide: ({ file }) => (file === '/bin/sh' ? 'escalate' : 'run') });

    expect(stdout).toBe("{'exit_code': 3}\nafter\n");
  });

  it('answers that come too late', async () => {
    await using running = new Call('/bin/sleep 600 & echo $!; wait; echo over', { decide: () => 'ignore' });
    const [, pid] = await running.printed(/(\d+)\n/);
    await running.event('asked');
    process.kill(Number(pid), 'SIGKILL');
    const { id } = await running.event('gone');
    await running.broker.escalate(id, running.requests[0]!.exact);
    await running.broker.run(id);
    await running.broker.deny(id);
    await running.finished();

    expect(running.events.filter(({ type }) => type === 'running' || type === 'unstarted')).toEqual([]);
  });
});
