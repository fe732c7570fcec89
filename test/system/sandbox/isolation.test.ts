import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { appeared, gone, uniqueSeconds } from '../../support/proc.ts';
import { accounts, outcomeOf, type RunOptions, readOnly, SandboxFixture } from './fixture.ts';

const { EPERM, ENOSYS, ENOTSOCK, EROFS, EACCES, ESRCH } = constants.errno;

/** Numbers of system calls on the machines the filter knows. */
const numbers = (
  {
    x64: { ptrace: 101, vmReadv: 310, ioUringSetup: 425, getpeername: 52, unshare: 272, clone3: 435, keyctl: 250 },
    arm64: { ptrace: 117, vmReadv: 270, ioUringSetup: 425, getpeername: 205, unshare: 97, clone3: 435, keyctl: 219 },
  } as Record<string, Record<string, number>>
)[process.arch]!;

/** A script that makes one system call and prints the error number it gets, 0 for success. */
const call = (name: string, ...args: (string | number)[]): string =>
  `perl -e '$! = 0; my $r = syscall(${[numbers[name], ...args].join(', ')}); print $r == -1 ? $!+0 : 0'`;

/** The same for making a socket. */
const socket = (family: number, type: number): string =>
  `perl -MSocket -e '$! = 0; my $ok = socket(my $s, ${family}, ${type}, 0); print $ok ? 0 : $!+0'`;

const families = { unix: 1, inet: 2, inet6: 10, netlink: 16, packet: 17, alg: 38, vsock: 40 };
const STREAM = 1;
const DATAGRAM = 2;
const RAW = 3;
const CLONE_NEWUSER = 0x1000_0000;

describe.each(accounts)('a sandboxed command of a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account, { SERVER_SECRET: 'do-not-show' });
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  const printed = async (script: string, options?: RunOptions): Promise<string> =>
    (await fixture.run(script, options)).stdout.trim();

  it('sees its own processes only', async () => {
    const pids = (await printed('ls /proc | grep "^[0-9]"')).split('\n');
    expect(pids.length).toBeLessThanOrEqual(5);
    expect(await printed(`kill -9 ${fixture.server.pid} 2>&1 | grep -o "No such process"`)).toBe('No such process');
    expect(await printed(`perl -e 'kill(9, ${fixture.server.pid}); print $!+0'`)).toBe(String(ESRCH));
  });

  it('cannot kill what it cannot see', async () => {
    const bystander = await fixture.client.start({ argv: ['sleep', '60'] });
    // A number this small means a namespace of its own: without one this would end everything on the machine.
    expect(await fixture.run('test $$ -lt 10 || exit 77; kill -9 -1; exit 3')).not.toMatchObject({ exitCode: 77 });
    expect((await fixture.client.call('process/list')).processes).toContainEqual(
      expect.objectContaining({ processId: bystander.id, phase: 'running' }),
    );
    await fixture.client.call('process/terminate', { processId: bystander.id });
  });

  it('has exactly the environment that was sent, and no sight of the server', async () => {
    const argv = ['/usr/bin/env'];
    const { stdout } = await fixture.run('', { argv, env: { A: 'b', 'odd name': 'x=y' } });
    expect(stdout.trim().split('\n').sort()).toEqual(
      ['A=b', `O=${fixture.outside}`, 'PATH=/usr/bin:/bin', `W=${fixture.workspace}`, 'odd name=x=y'].sort(),
    );
    expect(await printed('cat /proc/1/environ /proc/*/environ 2>/dev/null | tr "\\0" "\\n"')).not.toContain('do-not');
  });

  it('has three descriptors, pipes that can be opened again', async () => {
    expect(
      await printed(
        'exec perl -e \'opendir(D, "/proc/self/fd"); print join(" ", sort grep { /\\d/ && -e "/proc/self/fd/$_" && readlink("/proc/self/fd/$_") !~ m{/fd$} } readdir D)\'',
      ),
    ).toBe('0 1 2');
    expect(await fixture.run('echo x > /dev/stdout; echo y > /dev/stderr')).toMatchObject({
      stdout: 'x\n',
      stderr: 'y\n',
    });
  });

  it.each([
    ['mount -t tmpfs none sub', 32],
    ['mount -o remount,rw /', 32],
    ['umount .git', 32],
  ])('cannot change its mounts: %s', async (script, exitCode) => {
    expect(await fixture.run(script)).toMatchObject({ exitCode });
  });

  it('cannot make a user namespace or a device', async () => {
    expect(await printed(call('unshare', CLONE_NEWUSER))).toBe(String(EPERM));
    expect(await printed(call('clone3', 0, 0))).toBe(String(ENOSYS));
    expect((await fixture.run('unshare -Urm true')).exitCode).toBe(1);
    expect(await fixture.run('mknod sub/disk b 8 0')).toMatchObject({ exitCode: 1, denied: true });
  });

  it('gains nothing from set-uid programs', async () => {
    expect(await printed('grep -E "^(NoNewPrivs|CapEff|CapBnd)" /proc/self/status | cut -f2 | tr "\\n" " "')).toBe(
      '0000000000000000 0000000000000000 1',
    );
  });

  it.each(['restricted', 'enabled'] as const)('cannot reach into processes, with its network %s', async (network) => {
    expect(await printed(call('ptrace', 16, 1, 0, 0), { network })).toBe(String(EPERM));
    expect(await printed(call('vmReadv', 1, 0, 0, 0, 0, 0), { network })).toBe(String(EPERM));
    expect(await printed(call('ioUringSetup', 1, 0), { network })).toBe(String(EPERM));
    expect(await printed(call('keyctl', 0, 0), { network })).toBe(String(EPERM));
    expect(await printed(socket(families.vsock, STREAM), { network })).not.toBe('0');
  });

  it.each(['inet', 'inet6', 'netlink', 'packet', 'vsock', 'alg'] as const)('gets no %s socket', async (family) => {
    expect(await printed(socket(families[family], STREAM))).toBe(String(EPERM));
  });

  it('gets Unix sockets that only talk to each other', async () => {
    expect(await printed(socket(families.unix, STREAM))).toBe('0');
    expect(await printed(socket(families.unix, DATAGRAM))).toBe(String(EPERM));
    expect(await printed(socket(families.unix, RAW))).toBe(String(EPERM));
    const pair = (type: number) =>
      `perl -MSocket -e '$! = 0; my $ok = socketpair(my $a, my $b, 1, ${type}, 0); print $ok ? 0 : $!+0'`;
    expect(await printed(pair(STREAM))).toBe('0');
    expect(await printed(pair(DATAGRAM))).toBe(String(EPERM));
    const bind = `perl -MSocket -e 'socket(my $s, 1, 1, 0); $! = 0; print bind($s, sockaddr_un("$ENV{W}/s")) ? 0 : $!+0'`;
    expect(await printed(bind)).toBe(String(EPERM));
  });

  it('is told that its input is no socket, so that shells read no start-up files', async () => {
    expect(await printed(call('getpeername', 0, 0, 0))).toBe(String(ENOTSOCK));
    fixture.write('workspace/.bashrc', 'echo start-up file\n');
    expect(await printed('echo ran', { env: { HOME: fixture.workspace } })).toBe('ran');
  });

  describe('and services of the host', () => {
    let tcp: Server;
    let unix: Server;
    const socketPath = join(tmpdir(), `exec-server-test-${process.pid}.sock`);
    beforeAll(async () => {
      tcp = createServer(greet).listen(0, '127.0.0.1');
      unix = createServer(greet).listen({ path: socketPath, writableAll: true });
      await Promise.all([once(tcp, 'listening'), once(unix, 'listening')]);
    });
    afterAll(() => {
      tcp.close();
      unix.close();
    });
    const port = () => (tcp.address() as { port: number }).port;
    const connectTcp = () => `exec 3<>/dev/tcp/127.0.0.1/${port()} && cat <&3`;
    const connectUnix = (address: string) =>
      `perl -MSocket -e 'socket(my $s, 1, 1, 0); $! = 0; print connect($s, pack("Sa*", 1, "${address}")) ? 0 : $!+0'`;

    it('does not reach them with its network restricted', async () => {
      const outcome = await fixture.run(connectTcp());
      expect(outcome).toMatchObject({ stdout: '', exitCode: 1, denied: true });
      expect(await printed(connectUnix(socketPath))).toBe(String(EPERM));
      expect(await printed(connectUnix('\\0abstract'))).toBe(String(EPERM));
    });

    it('reaches them with its network enabled', async () => {
      expect(await printed(connectTcp(), { network: 'enabled' })).toBe('hello');
      expect(await printed(connectUnix(socketPath), { network: 'enabled' })).toBe('0');
    });

    it('does not reach them either when only its network is restricted', async () => {
      const permissions = { type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' };
      const outcome = await fixture.run(`${connectTcp()}; echo x > $O/n; cat $O/n`, { sandbox: { permissions } });
      expect(outcome.stdout).toBe('x\n');
      expect(outcome.stderr).toContain('Operation not permitted');
    });
  });

  it('cannot open parameters of the kernel for writing', async () => {
    const open = (file: string) =>
      `perl -MFcntl -e '$! = 0; print sysopen(my $f, "${file}", O_WRONLY|O_APPEND) ? 0 : $!+0'`;
    // A file the user does not own is refused for that reason first on some kernels.
    expect([String(EROFS), String(EACCES)]).toContain(await printed(open('/proc/sys/kernel/printk')));
    expect([String(EROFS), String(EACCES)]).toContain(await printed(open('/proc/sys/kernel/core_pattern')));
    if (account.uid === 0) expect(await printed(open('/proc/sys/kernel/printk'))).toBe(String(EROFS));
  });

  it('dies with what it leaves behind', async () => {
    const seconds = uniqueSeconds();
    const running = await fixture.start(`setsid sleep ${seconds} >/dev/null 2>&1 & read`, { stdin: 'open' });
    const daemons = await appeared(seconds);
    await fixture.client.call('process/closeStdin', { processId: running.id });
    expect(await running.exited()).toBe(1);
    await gone(daemons);
  });

  it('is terminated with its daemons, and leaves nothing in the workspace', async () => {
    const seconds = uniqueSeconds();
    const running = await fixture.start(`setsid sleep ${seconds} >/dev/null 2>&1 & sleep ${seconds}`);
    const family = await appeared(seconds, 2);
    await fixture.client.call('process/terminate', { processId: running.id });
    expect(await outcomeOf(running)).toMatchObject({ exitCode: 137, denied: false });
    await gone(family);
    expect(execFileSync('ls', ['-A', fixture.workspace], { encoding: 'utf8' })).toBe('.git\na.txt\nsub\n');
  });

  it.each([
    ['kill -9 $$', 137],
    ['kill -SEGV $$', 139],
    ['exit 3', 3],
  ])('ends with the code of its command: %s', async (script, exitCode) => {
    expect(await fixture.run(script)).toMatchObject({ exitCode, denied: false });
  });

  it('has a terminal that it does not control', async () => {
    const process = await fixture.start('tty; stty size; echo x > /dev/tty', { tty: true });
    await process.closed();
    expect(process.output()).toContain('/dev/console\r\n24 80\r\n');
    expect(process.output()).toContain('No such device or address');
  });

  it('can be written to, and is closed by the end of its input', async () => {
    const process = await fixture.client.start({
      argv: ['cat'],
      cwd: 'file:///',
      pipeStdin: true,
      sandbox: {
        permissions: { type: 'managed', file_system: { type: 'restricted', entries: readOnly }, network: 'restricted' },
      },
    });
    await fixture.client.call('process/write', {
      processId: process.id,
      chunk: Buffer.from('hello').toString('base64'),
    });
    await fixture.client.call('process/closeStdin', { processId: process.id });
    expect(await outcomeOf(process)).toMatchObject({ exitCode: 0, stdout: 'hello' });
  });

  it.runIf(process.arch === 'x64')('is killed or refused when it uses other interfaces of the machine', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'exec-server-calls-'));
    const source = join(folder, 'calls.c');
    writeFileSync(source, otherInterfaces);
    execFileSync('cc', ['-static', '-o', join(folder, 'calls'), source]);
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    expect(await printed(`${folder}/calls x32`)).toBe(String(ENOSYS));
    expect(await fixture.run(`exec ${folder}/calls i386`)).toMatchObject({ exitCode: 159, denied: true });
    rmSync(folder, { recursive: true });
  });

  it('starts by exit code and argv[0] as it would without a sandbox', async () => {
    const process = await fixture.client.start({
      argv: ['/bin/bash', '-c', 'echo $0'],
      arg0: 'renamed',
      sandbox: { permissions: { type: 'external', network: 'restricted' } },
    });
    expect(await outcomeOf(process)).toMatchObject({ exitCode: 0, stdout: 'renamed\n' });
  });
});

describe.each(accounts)('the death of a server run by $name', (account) => {
  it('is the death of its sandboxed commands', async () => {
    await using fixture = await SandboxFixture.open(account);
    const seconds = uniqueSeconds();
    await fixture.start(`exec sleep ${seconds}`);
    const commands = await appeared(seconds);
    await fixture.server.stop('SIGKILL');
    await gone(commands);
  });

  it('leaves empty directories in the workspace, until the next server takes them away', async () => {
    const state = mkdtempSync(join(tmpdir(), 'exec-server-state-'));
    chownSync(state, account.uid, account.gid);
    await using first = await SandboxFixture.open(account, { XDG_STATE_HOME: state });
    const seconds = uniqueSeconds();
    await first.start(`exec sleep ${seconds}`);
    const commands = await appeared(seconds);
    await first.server.stop('SIGKILL');
    await gone(commands);
    expect(readdirSync(first.workspace)).toContain('.codex');
    await using second = await SandboxFixture.open(account, { XDG_STATE_HOME: state });
    expect(await second.run('true')).toMatchObject({ exitCode: 0 });
    expect(readdirSync(first.workspace).sort()).toEqual(['.git', 'a.txt', 'sub']);
    rmSync(state, { recursive: true });
  });
});

function greet(connection: Socket): void {
  connection.on('error', () => {}); // a client may leave without listening
  connection.end('hello');
}

const otherInterfaces = `
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "x32") == 0) {
        errno = 0;
        long outcome = syscall(0x40000000 + SYS_getpid);
        printf("%d", outcome < 0 ? errno : 0);
        return 0;
    }
    int outcome;
    __asm__ volatile("int $0x80" : "=a"(outcome) : "a"(20) : "memory");
    printf("%d", outcome);
    return 0;
}
`;
