import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { decode, methods, type Params } from '../../protocol/index.ts';
import { resolveStart } from './start-request.ts';

const flat = { processId: 'p', argv: ['prog', 'arg'], cwd: 'file:///work%20dir', env: { A: '1' }, tty: false };
const open = { allowDirectExec: true, allowPreparedExec: true, allowUsers: [] };

const noScope = { scopeId: '', shell: { name: 'bash', path: '/bin/bash' } };
const sandboxIn = (cwd: string, ...readable: string[]) => ({
  permissions: {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: readable.map((path) => ({ path: { type: 'path', path }, access: 'read' })),
    },
    network: 'restricted',
  },
  cwd,
});

const start = (params: object, gates = open, own: Record<string, string> = {}) =>
  resolveStart(decode(methods['process/start'].params, params) as Params<'process/start'>, own, gates);

function refusalOf(params: object, gates = open): unknown {
  try {
    return start(params, gates);
  } catch (error) {
    return (error as { toWire(): unknown }).toWire();
  }
}

describe('a start request', () => {
  it('resolves to the command to spawn', () => {
    expect(start(flat)).toEqual({
      argv: ['prog', 'arg'],
      cwd: '/work dir',
      env: { A: '1' },
      io: { type: 'pipe', stdin: 'closed' },
    });
  });

  it('may name the program differently to itself', () => {
    expect(start({ ...flat, arg0: 'other' })).toMatchObject({ argv: ['prog', 'arg'], arg0: 'other' });
    expect(start({ ...flat, arg0: null })).not.toHaveProperty('arg0');
  });

  it('applies its environment policy to the environment of the server', () => {
    const envPolicy = { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };

    expect(start({ ...flat, envPolicy }, open, { OWN: '2', MY_KEY: '3' }).env).toEqual({ A: '1', OWN: '2' });
  });

  it('may have a working directory whose name is not UTF-8', () => {
    expect(start({ ...flat, cwd: 'file:///raw%FF' }).cwd).toEqual(Buffer.from('/raw\xff', 'latin1'));
  });

  it.each([
    [{ tty: true }, { type: 'pty', rows: 24, cols: 80 }],
    [
      { tty: true, pipeStdin: true },
      { type: 'pty', rows: 24, cols: 80 },
    ],
    [
      { tty: false, pipeStdin: true },
      { type: 'pipe', stdin: 'open' },
    ],
    [{ io: { type: 'pty', rows: 50, cols: 132 } }, { type: 'pty', rows: 50, cols: 132 }],
    [
      { tty: true, io: { type: 'pty', rows: 50, cols: 132 } },
      { type: 'pty', rows: 50, cols: 132 },
    ],
    [{ io: { type: 'pipe', stdin: 'open' } }, { type: 'pipe', stdin: 'open' }],
    [
      { tty: false, pipeStdin: true, io: { type: 'pipe', stdin: 'open' } },
      { type: 'pipe', stdin: 'open' },
    ],
  ])('with %j is wired as %j', (wiring, io) => {
    const { tty: _, ...rest } = flat;

    expect(start({ ...rest, argv: ['/bin/prog'], ...wiring }).io).toEqual(io);
  });

  it.each([
    [{ tty: true, io: { type: 'pipe', stdin: 'open' } }],
    [{ tty: false, io: { type: 'pty', rows: 1, cols: 1 } }],
    [{ tty: false, pipeStdin: true, io: { type: 'pipe', stdin: 'closed' } }],
    [{ tty: false, pipeStdin: false, io: { type: 'pipe', stdin: 'open' } }],
  ])('that contradicts itself is refused: %j', (wiring) => {
    expect(refusalOf({ ...flat, ...wiring })).toEqual({
      code: -32602,
      message: 'io contradicts tty or pipeStdin; send only one of the two forms',
    });
  });

  it('gets a SHELL on a terminal when it has none, and nothing else', () => {
    const { shell } = userInfo();

    const argv = ['/bin/prog'];
    expect(start({ ...flat, argv, tty: true }).env).toEqual({ A: '1', SHELL: shell });
    expect(start({ ...flat, argv, tty: true, env: { SHELL: '/x' } }).env).toEqual({ SHELL: '/x' });
  });

  it('may be prepared, and is then taken as it is', () => {
    const request = { argv: ['prog'], cwd: 'file:///w', env: { B: '2' }, arg0: 'zero' };
    const prepared = { processId: 'p', mode: 'prepared', tty: false, request };

    expect(start(prepared, open, { OWN: '1' })).toEqual({
      argv: ['prog'],
      arg0: 'zero',
      cwd: '/w',
      env: { B: '2' },
      io: { type: 'pipe', stdin: 'closed' },
    });
    expect(start({ ...prepared, tty: true, request: { ...request, argv: ['/bin/prog'] } }).env).toEqual({ B: '2' });
  });

  it('is refused in a form that is switched off, and the setting is named', () => {
    const prepared = {
      processId: 'p',
      mode: 'prepared',
      tty: false,
      request: { argv: ['x'], cwd: 'file:///', env: {} },
    };

    expect([
      refusalOf(flat, { ...open, allowDirectExec: false }),
      refusalOf(prepared, { ...open, allowPreparedExec: false }),
    ]).toEqual([
      { code: -32600, message: expect.stringContaining('allowDirectExec') },
      { code: -32600, message: expect.stringContaining('allowPreparedExec') },
    ]);
    expect(() => start(flat, { ...open, allowPreparedExec: false })).not.toThrow();
    expect(() => start(prepared, { ...open, allowDirectExec: false })).not.toThrow();
  });

  it.each([
    [{ argv: [] }, -32602, 'argv must not be empty'],
    [{ argv: [''] }, -32603, 'missing program for pipe spawn'],
    [{ argv: [''], tty: true }, -32603, 'missing program for PTY spawn'],
    [{ argv: ['', 'a\0b'] }, -32603, 'missing program for pipe spawn'],
    [{ argv: [], cwd: 'file://host/x' }, -32602, expect.stringMatching(/^cwd URI /)],
    [{ argv: [], cwd: 'file://host/x', shellSnapshot: noScope }, -32602, expect.stringMatching(/^cwd URI /)],
    [{ argv: [], shellSnapshot: noScope }, -32602, expect.stringMatching(/^shell snapshot scope /)],
    [{ argv: ['/bin/echo', 'a\0b'], shellSnapshot: noScope }, -32602, expect.stringMatching(/^shell snapshot scope /)],
    [{ cwd: 'file://host/x', sandbox: sandboxIn('file://host/y') }, -32602, expect.stringMatching(/^sandbox cwd URI /)],
    [{ argv: [], sandbox: sandboxIn('file://host/y') }, -32602, expect.stringMatching(/^sandbox cwd URI /)],
    [
      { argv: [], sandbox: sandboxIn('file://host/y', 'file://host/z') },
      -32602,
      "invalid sandbox permission path URI: 'file://host/z' is invalid on 'linux'",
    ],
    [
      { cwd: 'file://host/x', sandbox: { ...sandboxIn('file:///w'), cwd: null } },
      -32602,
      "sandbox cwd URI `file://host/x` is not valid on this exec-server host: 'file://host/x' is invalid on 'linux'",
    ],
    [
      { cwd: 'file://host/x', sandbox: sandboxIn('file:///w'), shellSnapshot: noScope },
      -32602,
      "failed to prepare process sandbox: command cwd URI `file://host/x` is not valid on this host: 'file://host/x' is invalid on 'linux'",
    ],
    [
      { argv: [], cwd: 'file://host/x', sandbox: sandboxIn('file:///w'), shellSnapshot: noScope },
      -32602,
      'argv must not be empty',
    ],
    [{ argv: [''], arg0: 'a\0b', sandbox: sandboxIn('file:///w') }, -32603, 'nul byte found in provided data'],
    [{ argv: [''], env: { A: '\0' }, sandbox: sandboxIn('file:///w') }, -32603, 'data provided contains a nul byte'],
    [{ argv: [''], tty: true, sandbox: sandboxIn('file:///w') }, -32603, 'missing program for PTY spawn'],
    [{ argv: ['/bin/echo', 'a\0b'] }, -32603, 'nul byte found in provided data'],
    [{ arg0: 'a\0b' }, -32603, 'nul byte found in provided data'],
    [{ env: { A: 'a\0b' } }, -32603, 'data provided contains a nul byte'],
    [{ env: { PATH: '/bin', A: 'a\0b' }, argv: ['sh'], tty: true }, -32603, 'nul byte found in provided data'],
    [{ env: { PATH: '/bin', 'A\0b': '' }, argv: ['/nowhere'], tty: true }, -32603, 'data provided contains a nul byte'],
    [{ env: { PATH: '/bin' }, argv: ['sh', 'a\0b'], tty: true }, -32603, 'nul byte found in provided data'],
    [
      { env: { PATH: '/bin' }, argv: ['s\0h'], tty: true },
      -32603,
      'Unable to spawn s\0h because:\nNo viable candidates found in PATH "/bin"',
    ],
    [
      { env: { PATH: '/bin' }, argv: ['nowhere', 'a\0b'], tty: true },
      -32603,
      'Unable to spawn nowhere because:\nNo viable candidates found in PATH "/bin"',
    ],
    [
      { env: { PATH: 'a\0b' }, argv: ['sh'], tty: true },
      -32603,
      'Unable to spawn sh because:\nNo viable candidates found in PATH "a\\0b"',
    ],
    [{ argv: ['./s\0h'], tty: true }, -32603, 'Unable to spawn /work dir/./s\0h because it does not exist'],
    [
      { argv: ['./s\0h'], cwd: 'file:///work//dir//', tty: true },
      -32603,
      'Unable to spawn /work/dir/./s\0h because it does not exist',
    ],
    [
      { cwd: 'file:///C:/Users' },
      -32602,
      "cwd URI `file:///C:/Users` is not valid on this exec-server host: 'file:///C:/Users' is invalid on 'linux'",
    ],
  ])('with %j is refused', (change, code, message) => {
    expect(refusalOf({ ...flat, ...change })).toEqual({ code, message });
  });
});
