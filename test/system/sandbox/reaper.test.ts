import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appeared, argumentsOf, childrenOf, gone, uniqueSeconds } from '../../support/proc.ts';
import { accounts, type RunOptions, readOnly, SandboxFixture, uri, workspaceWrite } from './fixture.ts';

const { EACCES, EPERM, EROFS, ETXTBSY } = constants.errno;
const refusals = [EACCES, EPERM, EROFS].map(String);

/** Tries something harmless in Perl and prints the error number, 0 when it would have been allowed. */
const tried = (expression: string): string => `perl -MFcntl -e '$! = 0; print +(${expression}) ? 0 : $!+0'`;

/** Gives a file the mode it has already. */
const chmodOf = (file: string): string =>
  tried(`do { my @s = stat("${file}"); @s ? chmod($s[2] & 07777, "${file}") : 0 }`);
const chownOf = (file: string): string => tried(`do { my @s = stat("${file}"); @s ? chown(-1, -1, "${file}") : 0 }`);
const writable = (file: string): string => tried(`sysopen(my $f, "${file}", O_RDWR)`);

describe.each(accounts)('the first process of a sandbox, of a server run by $name,', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const printed = async (script: string, options?: RunOptions): Promise<string> =>
    (await fixture.run(script, options)).stdout.trim();

  const policies: [string, RunOptions][] = [
    ['nothing writable', { entries: readOnly }],
    ['a writable workspace', { entries: workspaceWrite }],
    ['the network of the host', { entries: workspaceWrite, network: 'enabled' }],
    ['a terminal', { entries: readOnly, tty: true }],
  ];

  describe.each(policies)('with %s', (_name, options) => {
    const output = async (script: string): Promise<string> => {
      const process = await fixture.start(script, options);
      await process.closed();
      return (options.tty ? process.output() : process.output('stdout')).trim();
    };

    it.each([
      ['its program cannot be given a mode', chmodOf('/proc/1/exe')],
      ['its program cannot be given an owner', chownOf('/proc/1/exe')],
      ['its program cannot be written', writable('/proc/1/exe')],
      ['its memory cannot be written', writable('/proc/1/mem')],
      ['its memory cannot be read', tried('open(my $f, "<", "/proc/1/mem")')],
      [
        'its descriptors cannot be taken',
        tried('do { my $n = grep { open(my $f, "<", "/proc/1/fd/$_") } 0..20; $! = 13; $n }'),
      ],
      ['its program cannot be found out', tried('readlink("/proc/1/exe")')],
    ])('%s', async (_what, script) => {
      expect(refusals).toContain(await output(script));
    });

    it('and the command are the only processes in sight', async () => {
      const pids = `perl -e 'opendir(D, "/proc"); print join(" ", sort { $a <=> $b } grep { /^\\d+$/ } readdir D)'`;
      expect(await output(`exec ${pids}`)).toBe('1 2');
    });
  });

  /** The link by which it is started leads to its file where the view shows that. */
  const ownFile = async (): Promise<string> => {
    const stage = await printed('readlink /dev/.exec-server', { entries: workspaceWrite });
    expect(stage).toMatch(/\/build\/native\/sandbox-stage$/);
    return stage;
  };

  it('lies on a read-only mount', async () => {
    const stage = await ownFile();
    expect([...refusals, String(ETXTBSY)]).toContain(await printed(writable(stage), { entries: workspaceWrite }));
    expect(await printed(chmodOf(stage), { entries: workspaceWrite })).toBe(String(EROFS));
  });

  it('lies on a read-only mount of its own where the view hides its file', async () => {
    const file = '/dev/.exec-server';
    const entries = [...workspaceWrite, { path: { type: 'path', path: uri(await ownFile()) }, access: 'deny' }];
    expect([...refusals, String(ETXTBSY)]).toContain(await printed(writable(file), { entries }));
    expect(await printed(chmodOf(file), { entries })).toBe(String(EROFS));
    expect(await printed(tried(`unlink("${file}")`), { entries })).not.toBe('0');
    expect(await printed(tried(`rename("${file}", "/dev/other")`), { entries })).not.toBe('0');
  });

  it.each([
    ['write', 0],
    ['read', 0],
    ['deny', 1],
  ])('works where a policy names /dev: %s', async (access, exitCode) => {
    const entries = [...workspaceWrite, { path: { type: 'path', path: 'file:///dev' }, access }];
    expect(await fixture.run('ls /dev >/dev/null; test -e /dev/null', { entries })).toMatchObject({ exitCode });
    expect(await printed('exec 3<>/proc/1/mem || echo refused', { entries })).toBe('refused');
  });

  it('reaps what is left to it', async () => {
    const left =
      '(sleep 0.01 & echo $! > $W/sub/pid); while kill -0 $(cat $W/sub/pid) 2>/dev/null; do :; done; echo reaped';
    expect(await printed(left)).toBe('reaped');
  });

  it('ignores every signal of the command', async () => {
    expect(await fixture.run('for s in 1 2 3 9 13 15 17 19 20 34; do kill -$s 1; done; exit 5')).toMatchObject({
      exitCode: 5,
    });
  });

  it('leads a session without the terminal, with the command in its group, as bubblewrap did', async () => {
    expect(await printed('exec perl -e \'print join " ", $$, getppid(), getpgrp()\'')).toBe('2 1 1');
  });

  /** Every process of the sandbox leaves its family, as far as the mark of a family tells. */
  const unmark = 'for p in 1 $$; do prlimit --pid $p --rttime=1:1; done';

  it('ends with its process, whatever has become of the marks', async () => {
    const seconds = uniqueSeconds();
    const process = await fixture.start(
      `${unmark}; setsid sleep ${seconds} >/dev/null 2>&1 & ${unmark}; exec sleep ${seconds}`,
    );
    const commands = await appeared(seconds, 2);
    await fixture.client.call('process/terminate', { processId: process.id });
    await process.closed();
    await gone(commands);
  });

  it('keeps the number of its namespace from strangers while its server may look for it', async () => {
    const seconds = uniqueSeconds();
    const ended = await fixture.start(`exec sleep ${seconds}`);
    const [command] = await appeared(seconds);
    const launcher = parentOf(parentOf(command!));
    const namespace = readlinkSync(`/proc/${command}/ns/pid`);
    process.kill(fixture.server.pid, 'SIGSTOP'); // it cannot hear of the end
    try {
      process.kill(command!, 'SIGKILL');
      await gone(launcher);
      const strangers = Array.from({ length: 40 }, () => stranger(seconds));
      const numbers = await Promise.all(strangers.map(({ namespace }) => namespace));
      for (const { end } of strangers) end();
      expect(numbers).not.toContain(namespace);
    } finally {
      process.kill(fixture.server.pid, 'SIGCONT');
    }
    await ended.closed();
  });

  it('ends with its server, whatever has become of the marks and of the guardian', async () => {
    await using other = await SandboxFixture.open(account);
    const seconds = uniqueSeconds();
    const orphan = `perl -e 'syscall(${PRCTL}, 1, 0, 0, 0, 0); exec "sleep", "${seconds}"'`; // no parent-death signal
    await other.start(`${unmark}; setsid ${orphan} >/dev/null 2>&1 & ${unmark}; exec ${orphan}`);
    const commands = await appeared(seconds, 2);
    const [guardian] = guardiansOf(other.server.pid);
    process.kill(guardian!, 'SIGKILL');
    await other.server.stop('SIGKILL');
    await gone(commands);
  });
});

/** The number of the system call. */
const PRCTL = process.arch === 'arm64' ? 167 : 157;

const parentOf = (pid: number) => Number(/^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);

/** A process in a pid namespace of its own, which belongs to no server. */
function stranger(seconds: string): { readonly namespace: Promise<string>; end(): void } {
  const script = `readlink /proc/self/ns/pid; exec sleep ${seconds}`;
  const child = spawn('unshare', ['--user', '--map-root-user', '--pid', '--fork', '--kill-child', 'sh', '-c', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const namespace = once(createInterface({ input: child.stdout }), 'line').then(([line]) => line as string);
  return { namespace, end: () => child.kill('SIGKILL') };
}

function guardiansOf(server: number): number[] {
  const guardians = childrenOf(server).filter(({ pid }) => argumentsOf(pid)[0]?.endsWith('/guardian'));
  return guardians.map(({ pid }) => pid);
}
