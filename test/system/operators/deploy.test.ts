import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { publicProgram } from '../../support/public-program.ts';
import { announced, startServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';
import { accounts, readOnly, uri } from '../sandbox/fixture.ts';
import { ask, recordsIn, TestFolder } from './fixture.ts';
import { loopback, serveOn, socketAt } from './passed-sockets.ts';

const deploy = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const units = ['exec-server.service', 'exec-server.socket', 'exec-server-ops.socket'] as const;
const textOf = (name: string): string => readFileSync(join(deploy, name), 'utf8');

/** The value of a line of a unit. */
const lineOf = (unit: string, key: string): string =>
  textOf(unit)
    .split('\n')
    .find((line) => line.startsWith(`${key}=`))!
    .slice(key.length + 1);

const hasSystemd = existsSync('/usr/bin/systemd-analyze');

/** What systemd says about the units, with a program that is there and one change. */
function verify(change: (text: string) => string): string {
  using folder = new TestFolder();
  for (const unit of units) {
    const text = textOf(unit).replace('/usr/local/bin/exec-server ', '/bin/true ');
    writeFileSync(folder.file(unit), unit === 'exec-server.service' ? change(text) : text);
  }
  const files = units.map((unit) => folder.file(unit));
  const { stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
    encoding: 'utf8',
  });
  return `${stdout}${stderr}${status}`;
}

describe.skipIf(!hasSystemd)('systemd (needs systemd-analyze, of the package systemd)', () => {
  it('finds nothing wrong with the units', () => {
    expect(verify((text) => text)).toBe('0');
  });

  it('would find a misspelt option and a wrong value', () => {
    expect(verify((text) => text.replace('KillMode', 'KilMode'))).toContain("'KilMode'");
    expect(verify((text) => text.replace('OOMPolicy=continue', 'OOMPolicy=no'))).toContain(
      'Failed to parse OOM policy',
    );
  });
});

describe('the units', () => {
  it('start a server on both sockets, with the settings of the example', async () => {
    using folder = new TestFolder();
    const settings = textOf('exec-server.toml').replace('/var/log/exec-server/', `${folder.path}/`);
    writeFileSync(folder.file('exec-server.toml'), settings);
    const [, ...args] = lineOf('exec-server.service', 'ExecStart')
      .replace('/etc/exec-server/', `${folder.path}/`)
      .split(' ');
    const sockets = [await socketAt(loopback), await socketAt(loopback)];
    const names = [
      lineOf('exec-server.socket', 'FileDescriptorName'),
      lineOf('exec-server-ops.socket', 'FileDescriptorName'),
    ];

    await using server = await serveOn(args, { sockets, names });
    await using client = await connect(server.url);
    await (await client.start({ argv: ['true'] })).closed();

    expect(server.url).toBe(`ws://127.0.0.1:${sockets[0]!.port}`);
    expect((await ask(`http://127.0.0.1:${sockets[1]!.port}`, '/healthz')).body).toBe('ok\n');
    expect(recordsIn(folder.file('audit.log')).at(-1)).toMatchObject({ event: 'process.exited' });
  });

  it.skipIf(process.getuid!() !== 0)(
    'leave a server what sandboxes need: it has no capabilities and gets no privileges (needs root)',
    async () => {
      expect(lineOf('exec-server.service', 'CapabilityBoundingSet')).toBe('');
      expect(lineOf('exec-server.service', 'NoNewPrivileges')).toBe('yes');
      const account = accounts.at(-1)!;
      const confined = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];
      const home = mkdtempSync(join(tmpdir(), 'exec-server-unit-'));
      execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, home]);
      const user = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
      const child = spawn('setpriv', [...confined, ...user, process.execPath, publicProgram()], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { PATH: '/usr/bin:/bin', HOME: home },
      });
      await using server = await announced(child);
      await using client = await connect(server.url);

      const sandboxed = await client.start({
        argv: ['sh', '-c', 'grep -E "^(CapBnd|NoNewPrivs)" /proc/self/status; touch /tmp/never || echo denied'],
        sandbox: {
          permissions: {
            type: 'managed',
            file_system: { type: 'restricted', entries: readOnly },
            network: 'restricted',
          },
          windowsSandboxLevel: 'disabled',
          cwd: uri(home),
        },
      });
      await sandboxed.closed();

      expect(sandboxed.output('stdout')).toBe('CapBnd:\t0000000000000000\nNoNewPrivs:\t1\ndenied\n');
      rmSync(home, { recursive: true });
    },
  );
});

it('the container starts the server with options that it has, on all addresses with a token alone', async () => {
  using folder = new TestFolder();
  const text = textOf('Containerfile').replaceAll('\\\n', ' ');
  const [, list = ''] = /^CMD (\[.*\])$/m.exec(text) ?? [];
  const args = (JSON.parse(list) as string[]).map((word) =>
    word.replace(/:398\d\d$/, ':0').replace('/run/secrets/exec-server-token', folder.file('token')),
  );
  writeFileSync(folder.file('token'), 'a-token-of-some-length');

  await using server = await startServer({ args, env: { EXEC_SERVER_LOG: 'info' } });
  const url = String((await server.lineOf('ops.listening')).url).replace('0.0.0.0', '127.0.0.1');

  expect((await ask(url, '/healthz')).status).toBe(200);
  expect((await ask(url, '/metrics')).status).toBe(401);
  await expect(connect(server.url.replace('0.0.0.0', '127.0.0.1'))).rejects.toThrow('401');
});
