import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { PathUri } from '../../../src/protocol/index.ts';
import { appeared, gone, uniqueSeconds } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';

const isRoot = process.getuid?.() === 0;
const needsRoot = isRoot ? '' : ' (skipped: the tests do not run as root)';

describe.skipIf(!isRoot)(`a process of another user${needsRoot}`, () => {
  let server: TestServer;
  let client: WireClient;
  beforeAll(async () => {
    server = await startServer({ args: ['--allow-users', 'nobody', '--allow-users', '4242:4343'] });
    client = await connect(server.url);
  });
  afterAll(async () => {
    client.cut();
    await server.stop();
  });

  async function printed(script: string, options: object = {}): Promise<string> {
    const started = await client.start({ argv: ['sh', '-c', script], user: '4242:4343', ...options });
    await started.closed();
    return started.output();
  }

  it('has its numbers alone, and no right of root', async () => {
    const script = 'id -u; id -g; id -G; grep -E "^(Uid|Gid|Groups|CapPrm|CapEff|CapAmb):" /proc/self/status';
    expect((await printed(script)).replaceAll(/[\t ]+/g, ' ').split('\n')).toEqual([
      '4242',
      '4343',
      '4343',
      'Uid: 4242 4242 4242 4242',
      'Gid: 4343 4343 4343 4343',
      'Groups: 4343 ',
      'CapPrm: 0000000000000000',
      'CapEff: 0000000000000000',
      'CapAmb: 0000000000000000',
      '',
    ]);
    expect(await printed('cat /etc/shadow')).toMatch(/Permission denied/);
  });

  it('is given the home and the name of its account, unless the request has others', async () => {
    const show = 'echo $USER $LOGNAME $HOME $SHELL';
    expect(await printed(show, { user: 'nobody' })).toBe('nobody nobody /nonexistent /usr/sbin/nologin\n');
    const inherit = { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };
    expect(await printed(show, { envPolicy: inherit, env: { HOME: '/tmp' } })).toBe('4242 4242 /tmp /bin/sh\n');
    const request = { argv: ['sh', '-c', 'echo "[$HOME]"'], cwd: 'file:///', env: { PATH: '/usr/bin:/bin' } };
    expect(await printed('', { mode: 'prepared', request })).toBe('[]\n');
  });

  it.each([{ tty: false }, { tty: true }])('opens its own outputs by name: %j', async (wiring) => {
    const tty = wiring.tty ? '; tty; echo named > $(tty)' : '';
    const output = await printed(`echo out > /dev/stdout; echo err > /dev/stderr${tty}`, wiring);
    expect(output).toContain('out');
    expect(output).toContain('err');
    if (wiring.tty) expect(output).toContain('named');
    expect(output).not.toContain('denied');
  });

  it('is ended with its family, by terminate and when the server is killed', async () => {
    const script = (seconds: string) => `(setsid sleep ${seconds} &); trap '' TERM; sleep ${seconds}; sleep ${seconds}`;
    const first = uniqueSeconds();
    const started = await client.start({ argv: ['sh', '-c', script(first)], user: '4242:4343' });
    const family = await appeared(first, 2);
    await client.call('process/terminate', { processId: started.id });
    await started.closed();
    await gone(family);

    await using doomed = await startServer({ args: ['--allow-users', '4242:4343'] });
    const second = uniqueSeconds();
    const other = await connect(doomed.url);
    await other.start({ argv: ['sh', '-c', script(second)], user: '4242:4343' });
    const left = await appeared(second, 2);
    await doomed.stop('SIGKILL');
    await gone(left);
  });

  it('is counted by process/stat', async () => {
    const started = await client.start({ argv: ['sh', '-c', 'sleep 900 & wait'], user: '4242:4343' });
    const stat = () => client.call<{ descendants: number }>('process/stat', { processId: started.id });
    await expect.poll(async () => (await stat()).descendants).toBe(1);
    await client.call('process/terminate', { processId: started.id });
  });

  it('starts only where that user may be', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'closed-')); // 0700
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const cwd = PathUri.fromNative(folder).href;
    await expect(client.start({ argv: ['true'], cwd, user: 'nobody' })).rejects.toMatchObject({
      code: -32603,
      message: 'Permission denied (os error 13)',
    });
  });

  it.each([
    [
      { user: 'daemon' },
      "user daemon is not allowed; to allow it, add 'daemon' to the setting allow_users of the server",
    ],
    [
      { user: '4242:0' },
      "user 4242:0 is not allowed; to allow it, add '4242:0' to the setting allow_users of the server",
    ],
    [
      { sandbox: { permissions: { type: 'disabled' }, windowsSandboxLevel: 'disabled' } },
      'a sandboxed command runs as the user of the server: leave out user or sandbox',
    ],
    [
      {
        shellSnapshot: { scopeId: 's', shell: { name: 'bash', path: '/bin/bash' } },
        argv: ['/bin/bash', '-lc', 'true'],
      },
      'shellSnapshot restores the shell of the user of the server: leave out user or it',
    ],
  ])('is refused with %j', async (options, message) => {
    const start = client.start({ argv: ['true'], user: 'nobody', ...options });
    await expect(start).rejects.toMatchObject({ code: -32600, message });
  });

  it('is refused if it does not exist, and by a server that lists none', async () => {
    await using other = await startServer({ env: { EXEC_SERVER_ALLOW_USERS: 'nosuch' } });
    await using connected = await connect(other.url);
    await expect(connected.start({ argv: ['true'], user: 'nosuch' })).rejects.toMatchObject({
      code: -32600,
      message: 'no such user: nosuch (a name of /etc/passwd or UID:GID)',
    });
    await expect(connected.start({ argv: ['true'], user: 'nobody' })).rejects.toMatchObject({ code: -32600 });
  });

  it('is refused by a server of an ordinary user, whatever it lists', async () => {
    await using other = await startServer({
      uid: 65534,
      args: ['--allow-users', 'nobody'],
      cwd: '/',
      env: { HOME: '/tmp' },
    });
    await using connected = await connect(other.url);
    await expect(connected.start({ argv: ['true'], user: 'nobody' })).rejects.toMatchObject({
      code: -32600,
      message: 'this server does not run as root: it cannot start a process as user nobody',
    });
  });
});
