import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { argumentsOf, childrenOf, eventually } from '../../support/proc.ts';
import { announced, serverProgram } from '../../support/server.ts';
import { connect, type WebSocketClient } from '../../support/wire-client.ts';
import { outcomeOf, readOnly } from './fixture.ts';

const canTrace = existsSync('/usr/bin/strace');
const calls = 'trace=execve,execveat,memfd_create';

const sandbox = (network: 'restricted' | 'enabled') => ({
  permissions: { type: 'managed', file_system: { type: 'restricted', entries: readOnly }, network },
  windowsSandboxLevel: 'disabled',
  cwd: 'file:///',
});

describe.runIf(canTrace)('bubblewrap is executed by its path, and nothing from a memfd (needs strace),', () => {
  it('for a command that gets a launcher of its own', async () => {
    const trace = await traced(async (client) => {
      await echo(client, 'enabled'); // no launcher waits for a command in the network of the host
    });

    expect(trace.executed.filter((path) => path === '/bin/echo')).toHaveLength(1);
    trace.check();
  });

  it('for a command whose launcher has been waiting', async () => {
    const trace = await traced(async (client, server) => {
      await echo(client, 'restricted');
      await eventually('a launcher that waits', () => waitingLaunchers(server).length > 0);
      const [launcher] = waitingLaunchers(server);
      await echo(client, 'restricted');
      expect(waitingLaunchers(server)).not.toContain(launcher); // the command had it
    });

    expect(trace.executed.filter((path) => path === '/bin/echo')).toHaveLength(2);
    trace.check();
  });

  it('for the helper of file calls', async () => {
    const trace = await traced(async (client) => {
      await client.call('fs/readFile', { path: 'file:///etc/passwd', sandbox: sandbox('restricted') });
    });

    expect(trace.executed.some((path) => path.endsWith('fs-helper'))).toBe(true);
    trace.check();
  });
});

async function echo(client: WebSocketClient, network: 'restricted' | 'enabled'): Promise<void> {
  const command = await client.start({ argv: ['/bin/echo', 'on'], env: {}, sandbox: sandbox(network) });
  expect(await outcomeOf(command)).toMatchObject({ exitCode: 0, stdout: 'on\n' });
}

/** Those for commands: the first process of their sandbox is `sandbox-stage init`. */
const waitingLaunchers = (server: number): number[] =>
  childrenOf(server)
    .map(({ pid }) => pid)
    .filter((pid) => argumentsOf(pid)[0] === 'bwrap' && argumentsOf(pid).includes('init'));

class Trace {
  readonly #lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** The paths of all programs that were executed; a descriptor where it was one. */
  get executed(): string[] {
    return this.#lines.flatMap((call) => {
      const [, path] = /\bexecve(?:at)?\((.*?), \[/.exec(call) ?? [];
      return path === undefined ? [] : [path.replace(/^"(.*)"$/, '$1')];
    });
  }

  check(): void {
    const { executed } = this;
    expect(executed.filter((path) => !path.startsWith('/') || path.startsWith('/proc/'))).toEqual([]);
    expect(new Set(executed.filter((path) => path.includes('bwrap')))).toEqual(new Set(['/usr/bin/bwrap']));
    const memfds = this.#lines.filter((call) => call.includes('memfd_create("exec-server"'));
    expect(memfds.filter((call) => !/MFD_NOEXEC_SEAL|\|0x8|EINVAL/.test(call))).toEqual([]);
  }
}

/** What a server and everything it starts execute while it is used. */
async function traced(use: (client: WebSocketClient, server: number) => Promise<void>): Promise<Trace> {
  const folder = mkdtempSync(join(tmpdir(), 'exec-server-trace-'));
  const file = join(folder, 'trace');
  const strace = ['-f', '-qq', '--seccomp-bpf', '-s', '200', '-e', calls, '-e', 'signal=none', '-o', file];
  const child = spawn('strace', [...strace, process.execPath, serverProgram, '--listen', 'ws://127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: '/usr/bin:/bin', HOME: folder, XDG_STATE_HOME: folder },
  });
  const { url } = await announced(child);
  const [server] = childrenOf(child.pid!);
  const ended = once(child, 'exit');
  try {
    await using client = await connect(url);
    await use(client, server!.pid);
  } finally {
    process.kill(server!.pid, 'SIGTERM');
    await ended;
  }
  const lines = readFileSync(file, 'utf8').split('\n');
  rmSync(folder, { recursive: true });
  return new Trace(lines);
}
