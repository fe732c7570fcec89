import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, connectBare } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const usual = { cwd: 'file:///', env: { PATH: '/usr/bin:/bin' }, tty: false };

describe('starting a process', () => {
  it('answers with the id and says that nothing confines it', async () => {
    await using client = await connect(server.url);
    const { started } = client.begin({ processId: 'p', argv: ['true'] });
    expect(await started).toEqual({ processId: 'p', sandboxType: 'none', pid: expect.any(Number) });
  });

  it('makes the process leader of a session of its own, with three descriptors and nothing inherited', async () => {
    await using client = await connect(server.url);
    const script = 'read -r stat < /proc/$$/stat; set -- $stat; echo $$ $1 $5 $6; ls /proc/self/fd; env';
    const process = await client.start({
      argv: ['/bin/bash', '-c', script],
      cwd: 'file:///tmp',
      env: { ONLY: 'this', PATH: '/usr/bin:/bin' },
    });
    await process.closed();
    const [ids, ...rest] = process.output().trim().split('\n');
    expect(new Set(ids!.split(/\s+/)).size).toBe(1);
    // `ls` holds the directory it lists open as 3.
    expect(rest.slice(0, 4)).toEqual(['0', '1', '2', '3']);
    expect(rest.slice(4).sort()).toEqual(['ONLY=this', 'PATH=/usr/bin:/bin', 'PWD=/tmp', 'SHLVL=0', '_=/usr/bin/env']);
  });

  it('shows the child another name for itself', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'cat /proc/$$/cmdline | tr "\\0" " "'], arg0: 'renamed' });
    await process.closed();
    expect(process.output()).toBe('renamed -c cat /proc/$$/cmdline | tr "\\0" " " ');
  });

  it.each([
    [{ type: 'pipe', stdin: 'open' }, 'pipe'],
    [{ type: 'pipe', stdin: 'closed' }, '/dev/null'],
    [{ type: 'pty', rows: 30, cols: 90 }, '/dev/pts/'],
  ])('wires stdin as io %j says', async (io, stdin) => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['readlink', '/proc/self/fd/0'], tty: undefined, io });
    await process.closed();
    expect(process.output()).toContain(stdin);
  });

  it('takes io beside tty and pipeStdin as long as they agree', async () => {
    await using client = await connect(server.url);
    const pty = { type: 'pty', rows: 24, cols: 80 };
    await client.start({ argv: ['true'], tty: true, io: pty });
    await client.start({ argv: ['true'], pipeStdin: true, io: { type: 'pipe', stdin: 'open' } });
    for (const params of [
      { tty: false, io: pty },
      { tty: true, io: { type: 'pipe', stdin: 'open' } },
      { tty: false, pipeStdin: true, io: { type: 'pipe', stdin: 'closed' } },
    ]) {
      await expect(client.start({ argv: ['true'], ...params })).rejects.toMatchObject({ code: -32602 });
    }
    await expect(client.start({ argv: ['true'], tty: undefined })).rejects.toMatchObject({
      code: -32602,
      message: 'missing field `tty`',
    });
  });

  it('spawns a prepared request exactly as it is', async () => {
    await using client = await connect(server.url);
    const process = await client.start({
      mode: 'prepared',
      argv: ['ignored'],
      request: { argv: ['/bin/sh', '-c', 'echo "$0"; pwd; env'], cwd: 'file:///usr', env: { A: '1' }, arg0: 'me' },
    });
    await process.closed();
    expect(process.output()).toBe('/bin/sh\n/usr\nA=1\nPWD=/usr\n'.replace('/bin/sh', 'me'));
  });

  it.each([
    ['--allow-direct-exec=false', 'direct', 'prepared', 'allowDirectExec'],
    ['--allow-prepared-exec=false', 'prepared', 'direct', 'allowPreparedExec'],
  ])(
    'with %s refuses %s starts by the name of the setting and takes %s ones',
    async (flag, refused, taken, setting) => {
      await using gated = await startServer({ args: [flag] });
      await using client = await connect(gated.url);
      const request = { argv: ['/bin/true'], cwd: 'file:///', env: {} };
      await expect(client.start({ argv: ['/bin/true'], mode: refused, request })).rejects.toMatchObject({
        code: -32600,
        message: `${refused} process/start is switched off on this server (setting ${setting})`,
      });
      const process = await client.start({ argv: ['/bin/true'], mode: taken, request });
      expect(await process.exited()).toBe(0);
    },
  );

  it('tells clients that asked for it about starts and failed starts', async () => {
    await using client = await connectBare(server.url);
    await client.initialize({ events: ['process/started', 'process/failed'] });
    const process = await client.start({ processId: 'good', argv: ['true'] });
    await process.closed();
    await expect(client.start({ processId: 'bad', argv: ['/no/such'] })).rejects.toMatchObject({ code: -32603 });
    expect(client.stray).toEqual([
      { method: 'process/started', params: { processId: 'good', startedAtMs: expect.any(Number) } },
      { method: 'process/failed', params: { processId: 'bad', message: 'No such file or directory (os error 2)' } },
    ]);
  });

  it('does not disturb other clients with them', async () => {
    await using client = await connect(server.url);
    await (await client.start({ argv: ['true'] })).closed();
    await expect(client.start({ argv: ['/no/such'] })).rejects.toMatchObject({ code: -32603 });
    expect(client.stray).toEqual([]);
  });

  it.each([
    { argv: ['sh', '-c', 'echo started'] },
    {
      argv: ['/bin/bash', '-lc', 'echo started'],
      shellSnapshot: { scopeId: 's', shell: { name: 'bash', path: '/bin/bash' } },
    },
  ])('answers a repeated start with the same startId as the first time, and starts nothing: %j', async (wanted) => {
    await using client = await connect(server.url);
    const request = { ...usual, processId: 'once', startId: 's1', ...wanted };
    const process = client.track('once');
    const answers = [await client.call('process/start', request), await client.call('process/start', request)];
    await process.closed();
    answers.push(await client.call('process/start', request));
    const { pid } = answers[0]!;
    expect(answers).toEqual(Array(3).fill({ processId: 'once', sandboxType: 'none', pid }));
    expect(process.output()).toBe('started\n');
    const exists = { code: -32600, message: 'process once already exists' };
    for (const change of [{ startId: 's2' }, { startId: undefined }, { argv: ['true'] }, { tty: true }]) {
      await expect(client.call('process/start', { ...request, ...change })).rejects.toMatchObject(exists);
    }
  });

  it.each([
    [{ argv: [] }, -32602, 'argv must not be empty'],
    [{ argv: [''] }, -32603, 'missing program for pipe spawn'],
    [{ argv: ['/'] }, -32603, 'Permission denied (os error 13)'],
    [{ argv: ['true'], cwd: 'file:///no/such' }, -32603, 'No such file or directory (os error 2)'],
    [{ argv: ['true'], cwd: 'file:///no/such', tty: true }, -32603, 'No such file or directory (os error 2)'],
    [{ argv: ['true'], cwd: 'file:///etc/passwd' }, -32603, 'Not a directory (os error 20)'],
    [{ argv: ['tr\0ue'] }, -32603, 'nul byte found in provided data'],
    [{ argv: ['true'], env: { A: '\0' } }, -32603, 'data provided contains a nul byte'],
    [
      { argv: ['no-such'], env: { PATH: '/bin' }, tty: true },
      -32603,
      'Unable to spawn no-such because:\nNo viable candidates found in PATH "/bin"',
    ],
    [{ argv: ['true'], cwd: 'relative' }, -32602, 'invalid URI: relative URL without a base'],
  ])('refuses %j in the words of the reference', async (params, code, message) => {
    await using client = await connect(server.url);
    await expect(client.start(params)).rejects.toMatchObject({ code, message });
  });
});
