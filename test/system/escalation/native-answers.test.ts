import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { wrapper } from './native-fixture.ts';

// A server that answers one wrapper with bytes of the test's choosing; what it prints is what the wrapper made of them.
const server = `
import array, json, os, socket, struct, subprocess, sys
def answered(frames):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = {'CODEX_ESCALATE_SOCKET': str(theirs.fileno()), 'A': '1'}
    child = subprocess.Popen([sys.argv[1], '/bin/echo', 'echo', 'it ran'], env=env, pass_fds=[theirs.fileno()],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    theirs.close()
    data, fds, _, _ = socket.recv_fds(ours, 8192, 16)
    stream = socket.socket(fileno=fds[0])
    length, = struct.unpack('<I', stream.recv(4, socket.MSG_WAITALL))
    request = json.loads(stream.recv(length, socket.MSG_WAITALL))
    for frame in frames:
        stream.sendall(bytes.fromhex(frame))
    stream.shutdown(socket.SHUT_WR)
    child.wait()
    stream.close() # with it go the descriptors that were handed over
    out, err = child.communicate()
    return {'datagram': data.hex(), 'descriptors': len(fds), 'request': request, 'code': child.returncode,
            'out': out.decode(), 'err': err.decode()}
print(json.dumps([answered(frames) for frames in json.load(sys.stdin)]))
`;

interface Outcome {
  readonly datagram: string;
  readonly descriptors: number;
  readonly request: Record<string, unknown>;
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function frame(json: string): string {
  const body = Buffer.from(json);
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length);
  return Buffer.concat([header, body]).toString('hex');
}

const run = '{"action":"Run"}';
const nonsense = 'execve-wrapper: invalid answer from the server\n';

const cases: readonly (readonly [answer: string, frames: readonly string[], Partial<Outcome>])[] = [
  ['run', [frame(run)], { code: 0, out: 'it ran\n' }],
  [
    'run with members it does not know',
    [frame('{"x":[1,{"y":"}"}],"action":"Run","z":null}')],
    { code: 0, out: 'it ran\n' },
  ],
  ['run in other characters', [frame(' {"action":"\\u0052un"}\n')], { code: 0, out: 'it ran\n' }],
  ['a denial', [frame('{"action":{"Deny":{"reason":"Run"}}}')], { code: 1, out: '', err: 'Execution denied: Run\n' }],
  ['a denial without a reason', [frame('{"action":{"Deny":{"reason":null}}}')], { code: 1, err: 'Execution denied\n' }],
  ['a denial with no member', [frame('{"action":{"Deny":{}}}')], { code: 1, err: 'Execution denied\n' }],
  [
    'a reason in other characters',
    [frame('{"action":{"Deny":{"reason":"\\ud83d\\ude00\\n\\u00e9"}}}')],
    { code: 1, err: 'Execution denied: 😀\né\n' },
  ],
  ...[
    'Run',
    '"Run"',
    '["Run"]',
    `[${run}]`,
    `${run}${run}`,
    `${run} x`,
    '{"action":"Run"',
    "{'action':'Run'}",
    '{"action":"run"}',
    '{"action":"Run\\u0000"}',
    '{"action":["Run"]}',
    '{"action":{"Run":null}}',
    '{"action":"Run","action":"Run"}',
    '{"action":{"Deny":"Run"}}',
    '{"action":{"Deny":{"reason":1}}}',
    '{"action":{"Deny":{"reason":"a"},"Run":1}}',
    '{"Action":"Run"}',
    '{}',
    'null',
    '',
    `${'['.repeat(100)}${']'.repeat(100)}`,
  ].map((text) => [`nothing for ${text.slice(0, 40)}`, [frame(text)], { code: 126, out: '', err: nonsense }] as const),
  [
    'an end without an answer',
    [],
    { code: 126, out: '', err: 'execve-wrapper: there is no answer: the server has ended\n' },
  ],
  ['half an answer', [frame(run).slice(0, -2)], { code: 126, out: '' }],
  [
    'an answer that is too long',
    ['ffffffff'],
    {
      code: 126,
      out: '',
      err: expect.stringMatching(/^execve-wrapper: there is no answer: Message too (?:large|long)\n$/),
    },
  ],
  ['an exit code', [frame('{"action":"Escalate"}'), frame('{"exit_code":7}')], { code: 7, out: '' }],
  [
    'an exit code of today beside one of tomorrow',
    [frame('{"action":"Escalate"}'), frame('{"exit_code":-1,"new":{}}')],
    { code: 255 },
  ],
  [
    'a failed start',
    [frame('{"action":"Escalate"}'), frame('{"exit_code":127,"error":"x: gone"}')],
    { code: 127, err: 'x: gone\n' },
  ],
  ['death by a signal', [frame('{"action":"Escalate"}'), frame('{"exit_code":137,"signal":9}')], { code: -9 }],
  ['an end that is none', [frame('{"action":"Escalate"}'), frame('{"exit_code":"0"}')], { code: 126 }],
  ['no end', [frame('{"action":"Escalate"}')], { code: 126 }],
];

describe('the wrapper understands', () => {
  let outcomes: Outcome[] = [];
  beforeAll(() => {
    const input = JSON.stringify(cases.map(([, frames]) => frames));
    outcomes = JSON.parse(execFileSync('python3', ['-c', server, wrapper], { input, encoding: 'utf8' }));
  });

  it.each(cases.map(([answer, , expected], index) => [answer, index, expected] as const))(
    '%s',
    (_answer, index, expected) => {
      expect(outcomes[index]).toMatchObject(expected);
    },
  );

  it('its part of the protocol: one byte, one descriptor, and a request', () => {
    const { datagram, descriptors, request } = outcomes[0]!;

    expect({ datagram, descriptors }).toEqual({ datagram: '00', descriptors: 1 });
    expect(request).toMatchObject({
      file: '/bin/echo',
      argv: ['echo', 'it ran'],
      workdir: process.cwd(),
      env: { A: '1' },
    });
    expect(Object.keys(request)).toEqual(['file', 'argv', 'workdir', 'env', 'pid', 'umask', 'rlimits']);
  });
});
