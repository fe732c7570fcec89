import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, connectBare } from '../../support/wire-client.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';
import { ask, parseMetrics, recordsIn, sampleOf, TestFolder } from './fixture.ts';

const env = { EXEC_SERVER_LOG: 'info' };
const any = expect.any(String);

/** Sets how long files of a process may become, which stands for the room on a disk. */
const limitFiles = (pid: number, bytes: number | 'unlimited'): void =>
  void execFileSync('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:unlimited`]);

/** A server with an audit log. */
function startAudited(path: string, ...args: readonly string[]): Promise<TestServer> {
  return startServer({ args: ['--audit-log', path, ...args], env, detached: true });
}

describe('the audit log', () => {
  it('records who connected, what was started with which arguments and where, and how it ended', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using server = await startAudited(path);
    await using client = await connectBare(server.url);
    const sessionId = await client.initialize({ clientName: 'tester' });
    const argv = ['sh', '-c', 'exit 3', 'with "quotes" and\nlines'];
    await (await client.start({ processId: 'p', argv, cwd: 'file:///tmp' })).closed();
    await expect(client.start({ processId: 'q', argv: ['/does/not/exist'], network: 'on' })).rejects.toThrow(
      'No such file',
    );
    await client[Symbol.asyncDispose]();
    await server.stop();

    const records = recordsIn(path);
    const facts = { time: any, sessionId, peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) };
    expect(records).toEqual([
      { time: any, event: 'server.started', version: any, pid: server.pid },
      { time: any, peer: facts.peer, event: 'login.accepted' },
      { ...facts, event: 'session.attached', clientName: 'tester', resumed: false },
      { ...facts, event: 'process.starting', processId: 'p', argv, cwd: '/tmp', tty: false, sandbox: 'none' },
      {
        ...facts,
        event: 'process.exited',
        processId: 'p',
        pid: expect.any(Number),
        exitCode: 3,
        sandboxDenied: false,
        durationMs: expect.any(Number),
      },
      expect.objectContaining({ event: 'process.starting', processId: 'q', argv: ['/does/not/exist'], network: 'on' }),
      { ...facts, event: 'process.not_started', processId: 'q', reason: any },
      { time: any, event: 'server.stopped' },
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('has a process before the process runs, and what a killed server has done', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using server = await startAudited(path);
    await using client = await connect(server.url);
    // The process reads its own record.
    const reader = await client.start({ processId: 'reader', argv: ['grep', '-c', '"processId":"reader"', path] });
    expect(await reader.printed('\n')).toBe('1\n');
    const starts = Array.from({ length: 50 }, (_, n) => client.start({ processId: `n${n}`, argv: ['true'] }));
    await Promise.all(starts);

    await server.stop('SIGKILL');

    const started = recordsIn(path).filter(({ event }) => event === 'process.starting');
    expect(started.map(({ processId }) => processId)).toEqual(['reader', ...starts.map((_, n) => `n${n}`)]);
  });

  it('has the end of processes that nobody waits for: of a session that expires, and of a server that stops', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using server = await startAudited(path, '--detached-session-ttl-ms', '0');
    await using client = await connect(server.url);
    await client.start({ processId: 'left', argv: ['sleep', '600'] });
    client.cut();
    await server.logged('process.exited');
    await using other = await connect(server.url);
    await other.start({ processId: 'stopped', argv: ['sleep', '600'] });

    await server.stop();

    const ends = recordsIn(path).filter(({ event }) => event === 'process.exited');
    expect(ends).toMatchObject([
      { processId: 'left', signal: 'SIGKILL' },
      { processId: 'stopped', signal: 'SIGTERM' },
    ]);
    expect(recordsIn(path).at(-1)).toMatchObject({ event: 'server.stopped' });
  });

  it('shows no credential of the server, in a word or as one', async () => {
    using folder = new TestFolder();
    const [path, file] = [folder.file('audit.log'), folder.file('token')];
    writeFileSync(file, 'a-token-of-some-length');
    await using server = await startAudited(path, '--ws-auth', 'capability-token', '--ws-token-file', file);
    const headers = { authorization: 'Bearer a-token-of-some-length' };
    await using client = await connect(server.url, { headers });
    const argv = [
      'echo',
      'a-token-of-some-length',
      'Authorization: Bearer a-token-of-some-length',
      'another-word-of-it',
    ];

    await (await client.start({ argv })).closed();

    const shown = recordsIn(path).find(({ event }) => event === 'process.starting')?.argv;
    const hidden = '[a credential of this server]';
    expect(shown).toEqual(['echo', hidden, `Authorization: Bearer ${hidden}`, 'another-word-of-it']);
    expect(readFileSync(path, 'utf8')).not.toContain('a-token-of-some-length');
  });

  it('has HTTP requests by method and origin, with nothing of them that could be secret', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using upstream = await HttpUpstream.start((_request, response) => response.end());
    await using server = await startAudited(path);
    await using client = await connect(server.url);
    const url = `${upstream.url.replace('//', '//user:secret@')}/secret?key=secret`;
    const headers = [{ name: 'x-key', value: 'secret' }];

    await client.call('http/request', { requestId: 'r', method: 'POST', url, headers, bodyBase64: btoa('secret') });
    await expect(client.call('http/request', { requestId: 's', method: 'GET', url: 'no url' })).rejects.toThrow();

    const requests = recordsIn(path).filter(({ event }) => event === 'http.requesting');
    const origin = new URL(upstream.url).origin;
    expect(requests).toEqual([{ ...requests[0], requestId: 'r', method: 'POST', origin }]);
    expect(Object.keys(requests[0]!)).toEqual(['time', 'event', 'sessionId', 'peer', 'requestId', 'method', 'origin']);
    expect(readFileSync(path, 'utf8')).not.toContain('secret');
  });

  it('records a client that is turned away, and why', async () => {
    using folder = new TestFolder();
    const [path, file] = [folder.file('audit.log'), folder.file('token')];
    writeFileSync(file, 'a-token-of-some-length');
    await using server = await startAudited(path, '--ws-auth', 'capability-token', '--ws-token-file', file);

    await expect(connect(server.url)).rejects.toThrow('401');

    expect(recordsIn(path).slice(1)).toEqual([
      { time: any, event: 'login.refused', peer: any, reason: 'missing websocket bearer token' },
    ]);
  });

  it('is not shown to sandboxed commands, nor are older ones beside it', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    writeFileSync(`${path}.1`, 'an older one\n');
    chmodSync(folder.path, 0o755);
    await using fixture = await SandboxFixture.open(accounts[0]!, env, { args: ['--audit-log', path] });

    writeFileSync(folder.file('other'), 'something else\n');

    const { stdout } = await fixture.run(`cat ${path} ${path}.1 ${folder.file('other')}`);

    expect(stdout).toBe('something else\n');
    expect(recordsIn(path).at(-1)).toMatchObject({ event: 'process.exited', sandboxDenied: expect.any(Boolean) });
  });

  it('goes on in a new file when the old one was moved away and the server gets SIGHUP', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using server = await startAudited(path);
    await using client = await connect(server.url);
    await (await client.start({ processId: 'before', argv: ['true'] })).closed();
    renameSync(path, `${path}.1`);
    await (await client.start({ processId: 'between', argv: ['true'] })).closed();

    server.process.kill('SIGHUP');
    await server.logged('settings.reloaded');
    await (await client.start({ processId: 'after', argv: ['true'] })).closed();

    const starts = (file: string) => recordsIn(file).filter(({ event }) => event === 'process.starting');
    expect(starts(`${path}.1`).map(({ processId }) => processId)).toEqual(['before', 'between']);
    expect(starts(path).map(({ processId }) => processId)).toEqual(['after']);
  });
});

describe('while the audit log has a part of a record', () => {
  it('the rest of the record comes next, also when the server gets SIGHUP', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using server = await startAudited(path, '--audit-on-full', 'drop');
    await using client = await connect(server.url);
    limitFiles(server.pid, statSync(path).size + 40);
    await client.start({ processId: 'cut', argv: ['sleep', '600'] });
    expect(readFileSync(path, 'utf8').at(-1)).not.toBe('\n');

    limitFiles(server.pid, 'unlimited');
    server.process.kill('SIGHUP');
    await server.logged('settings.reloaded');

    expect(recordsIn(path)).toContainEqual(expect.objectContaining({ event: 'process.starting', processId: 'cut' }));
  });
});

describe('a new file that cannot be trusted', () => {
  it('is not used: the log goes on in the old one, and the server says why', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using server = await startAudited(path);
    await using client = await connect(server.url);
    renameSync(path, `${path}.1`);
    symlinkSync('/dev/null', path);

    server.process.kill('SIGHUP');
    const { error } = await server.lineOf('settings.not_reloaded');
    await (await client.start({ processId: 'after', argv: ['true'] })).closed();

    expect(error).toBe(`cannot use the audit log ${path}: it is a symbolic link; name the file itself`);
    expect(recordsIn(`${path}.1`).at(-1)).toMatchObject({ event: 'process.exited', processId: 'after' });
  });
});

describe('a file that cannot be trusted as audit log is refused at the start', () => {
  const files: readonly (readonly [string, (path: string) => void, string])[] = [
    ['a symbolic link', (path) => symlinkSync('/dev/null', path), 'it is a symbolic link; name the file itself'],
    ['a FIFO', (path) => execFileSync('mkfifo', [path]), 'it is not a regular file'],
    ['a file that its group can write', (path) => writeMode(path, 0o660), 'others than its owner can write to it'],
    ['a file that all users can write', (path) => writeMode(path, 0o666), 'others than its owner can write to it'],
    ['a file that all users can read', (path) => writeMode(path, 0o644), 'every user can read it; chmod 600 it'],
    [
      'a file with another name',
      (path) => {
        writeMode(path, 0o600);
        linkSync(path, `${path}.2`);
      },
      'it has another name (a hard link); remove one of them',
    ],
  ];

  const writeMode = (path: string, mode: number): void => {
    writeFileSync(path, '');
    chmodSync(path, mode);
  };

  it.each(files)('%s', async (_, make, reason) => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    make(path);

    const { stderr, ...ended } = await runCommand(['--audit-log', path]);

    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(stderr).toContain(`cannot use the audit log ${path}: ${reason}`);
  });

  it('one in a folder that every user can write to', async () => {
    using folder = new TestFolder();
    chmodSync(folder.path, 0o777);

    const { stderr } = await runCommand(['--audit-log', folder.file('audit.log')]);

    expect(stderr).toContain(`every user can write to ${folder.path}; choose a directory of its own, mode 0700`);
  });

  it.skipIf(process.getuid!() !== 0)(
    'one in the folder of another user, who can put another there (needs root)',
    async () => {
      using folder = new TestFolder();
      chownSync(folder.path, 54_321, 54_321);

      const { stderr } = await runCommand(['--audit-log', folder.file('audit.log')]);

      expect(stderr).toContain(`${folder.path} belongs to user 54321, who can replace the log`);
    },
  );
});

describe('while the audit log cannot be written', () => {
  it('nothing is started, until it can be written again; what happened meanwhile is recorded then', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    await using server = await startAudited(path);
    await using client = await connect(server.url);
    const running = await client.start({ processId: 'running', argv: ['cat'], pipeStdin: true });
    limitFiles(server.pid, statSync(path).size + 40); // room for a part of a record

    const refused = client.start({ processId: 'refused', argv: ['touch', folder.file('made')] });

    await expect(refused).rejects.toThrow(
      'the audit log of this server cannot be written (EFBIG): its operator has to make room, nothing is started until then',
    );
    expect(await server.lineOf('audit.not_written')).toMatchObject({ error: 'EFBIG', effect: 'no process is started' });
    expect(existsSync(folder.file('made'))).toBe(false);
    const request = { requestId: 'r', method: 'GET', url: server.url.replace('ws:', 'http:') };
    await expect(client.call('http/request', request)).rejects.toThrow(
      'the audit log of this server cannot be written',
    );
    await client.call('process/closeStdin', { processId: 'running' });
    await running.closed(); // what runs is served as ever

    limitFiles(server.pid, 'unlimited');
    await (await client.start({ processId: 'allowed', argv: ['true'] })).closed();

    expect(recordsIn(path).slice(-6)).toMatchObject([
      { event: 'process.starting', processId: 'running' },
      { event: 'process.starting', processId: 'refused' },
      { event: 'process.not_started', processId: 'refused', reason: expect.stringContaining('EFBIG') },
      { event: 'process.exited', processId: 'running' },
      { event: 'process.starting', processId: 'allowed' },
      { event: 'process.exited', processId: 'allowed' },
    ]);
  });

  it('records are dropped and counted, in the file and in the metrics, if the operator wants that', async () => {
    using folder = new TestFolder();
    const path = folder.file('audit.log');
    const args = ['--audit-on-full', 'drop', '--ops-listen', 'http://127.0.0.1:0'];
    await using server = await startAudited(path, ...args);
    const url = String((await server.lineOf('ops.listening')).url);
    const dropped = async () =>
      sampleOf(parseMetrics((await ask(url, '/metrics')).body), 'exec_server_audit_dropped_total');
    await using client = await connect(server.url);
    limitFiles(server.pid, statSync(path).size);
    const long = 'x'.repeat(100_000); // ten such records are kept for later

    for (let n = 0; n < 15; n++) await (await client.start({ processId: `p${n}`, argv: ['true', long] })).closed();
    const lost = await dropped();
    limitFiles(server.pid, 'unlimited');
    await (await client.start({ processId: 'last', argv: ['true'] })).closed();

    expect(lost).toBeGreaterThan(3);
    const records = recordsIn(path);
    const note = records.findIndex(({ event }) => event === 'audit.dropped');
    expect(records[note]).toMatchObject({ records: lost });
    expect(records.slice(note + 1).map(({ event, processId }) => [event, processId])).toEqual([
      ['process.starting', 'last'],
      ['process.exited', 'last'],
    ]);
    const starts = records.filter(({ event }) => event === 'process.starting');
    expect(starts.length + records.filter(({ event }) => event === 'process.exited').length + lost).toBe(32);
  });
});
