import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { argumentsOf, childrenOf, descriptorsOf, workingIn } from '../support/proc.ts';
import { announced, prepared, serverProgram, type TestServer } from '../support/server.ts';
import { connect, type WebSocketClient } from '../support/wire-client.ts';
import { serverMarkOf, withServerMark } from './server-mark.ts';

/** A fault that takes longer than the sample of `.ci/run` may. */
export const slow = it.skipIf(process.env.FAULTS_SAMPLE === '1');

export interface Circumstances {
  /** Words before the command line of the server, such as a shell that sets a limit first. */
  readonly under?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Whether the words before stay as its parent. */
  readonly isWrapped?: boolean;
}

/** A server as it is started most of the time. */
export const usual: Circumstances = {};

/**
 * A test: under these circumstances a server lives through the fault. Afterwards it serves, every byte by digest, and has no
 * more processes, descriptors, mounts and files than before; it ends when it is told to and then nothing of it is left.
 */
export function survives(
  circumstances: Circumstances | ((folder: string) => Circumstances),
  fault: (rig: FaultRig) => Promise<unknown>,
): () => Promise<void> {
  return async () => {
    const folder = newFolder();
    try {
      const chosen = typeof circumstances === 'function' ? circumstances(folder) : circumstances;
      await using rig = await FaultRig.start(chosen, folder);
      await fault(rig);
      await rig.recovered();
      await rig.leavesNothing();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** Places of a server in the folder of a test; a server that has recovered has left nothing in them. */
const PLACES = ['workspace', 'home', 'tmp'] as const;

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-fault-')));
  for (const place of PLACES) mkdirSync(join(folder, place));
  return folder;
}

/** What a server takes of the machine. */
interface Use {
  readonly descriptors: number;
  readonly children: number;
  readonly zombies: number;
  /** Everything it has started and that still lives, at any depth. */
  readonly processes: number;
  readonly mounts: string;
}

/** A server that has worked, and what it took of the machine then. */
export class FaultRig implements AsyncDisposable {
  readonly server: TestServer;
  readonly workspace: string;
  readonly #folder: string;
  readonly #isWrapped: boolean;
  readonly #mountsAround = ownMounts();
  readonly #watched = new Map<string, { pid: number; readonly descriptors: number }>();
  #mark = 0n;
  #before: Use | undefined;

  private constructor(server: TestServer, folder: string, isWrapped: boolean) {
    this.server = server;
    this.workspace = join(folder, 'workspace');
    this.#folder = folder;
    this.#isWrapped = isWrapped;
  }

  static async start(circumstances: Circumstances, folder: string): Promise<FaultRig> {
    const { under = [], args = [], env = {}, isWrapped = false } = circumstances;
    const program = [process.execPath, serverProgram, '--detached-session-ttl-ms', '0', ...args];
    const [command, ...words] = [...under, ...program];
    const own = { HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp'), EXEC_SERVER_LOG: 'debug' };
    const child = spawn(command!, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...own, ...env },
    });
    const rig = new FaultRig(await announced(child), folder, isWrapped);
    try {
      await prepared(rig.server);
      rig.#mark = serverMarkOf(rig.pid);
      rig.#before = await rig.#inUse();
      return rig;
    } catch (error) {
      await rig[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The process that serves. */
  get pid(): number {
    let { pid } = this.server;
    while (this.#isWrapped && argumentsOf(pid)[0] !== process.execPath) pid = childrenOf(pid)[0]!.pid;
    return pid;
  }

  connect(): Promise<WebSocketClient> {
    return connect(this.server.url);
  }

  /** The members of a request that confine it to the workspace, and to more places that it may write. */
  confinedTo(...more: readonly string[]): object {
    const special = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });
    const places = more.map((path) => ({ path: { type: 'path', path }, access: 'write' }));
    const entries = [special('root', 'read'), special('project_roots', 'write'), ...places];
    const workspace = pathToFileURL(this.workspace).href;
    return {
      permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
      windowsSandboxLevel: 'disabled',
      cwd: workspace,
      workspaceRoots: [workspace],
    };
  }

  get sandbox(): object {
    return this.confinedTo();
  }

  uri(name: string): string {
    return pathToFileURL(join(this.workspace, name)).href;
  }

  /** Commands and file calls, sandboxed and not, give every byte. */
  async serves(): Promise<void> {
    await using client = await this.connect();
    const plain = await client.start({ argv: ['seq', '1', '200000'] });
    const { sandbox } = this;
    const cwd = pathToFileURL(this.workspace).href;
    const confined = await client.start({ argv: ['sh', '-c', 'seq 1 50000 | tee served'], cwd, sandbox });
    await Promise.all([plain.closed(), confined.closed()]);
    const path = this.uri('served');
    const { dataBase64 } = await client.call<{ dataBase64: string }>('fs/readFile', { path, sandbox });
    await client.call('fs/remove', { path, sandbox });

    expect([sha256(plain.bytes()), sha256(confined.bytes()), sha256(Buffer.from(dataBase64, 'base64'))]).toEqual([
      sha256(numbersTo(200_000)),
      sha256(numbersTo(50_000)),
      sha256(numbersTo(50_000)),
    ]);
  }

  /** Also checks the descriptors of another program of ours: after the fault it has no more than now. */
  watchProgram(name: string, { pid }: { readonly pid?: number | undefined }): void {
    const known = this.#watched.get(name); // started again after it was killed
    this.#watched.set(name, { pid: pid!, descriptors: known?.descriptors ?? descriptorsSeen(pid!) });
  }

  /** Stops checking the other programs, because they are about to end. */
  unwatchPrograms(): void {
    this.#watched.clear();
  }

  /** The server serves, and the fault has left no process, descriptor, mount or file. */
  async recovered(): Promise<void> {
    await this.serves();
    const before = this.#before!;
    const programs = [...this.#watched].map(([name, { descriptors }]) => ({ name, descriptors }));
    await expect
      .poll(() => ({ use: raisedTo(this.#use(), before), programs: this.#watchedUse() }), PATIENCE)
      .toEqual({ use: { ...before, zombies: 0 }, programs });
    await expect.poll(() => this.#filesSeen(), PATIENCE).toEqual([]);
  }

  /** The server ends when it is told to while commands run, and leaves no process, mount or file. */
  async leavesNothing(): Promise<void> {
    await using client = await this.connect();
    const argv = ['sleep', '100000'];
    await client.start({ argv });
    await client.start({ argv, cwd: pathToFileURL(this.workspace).href, sandbox: this.sandbox });
    expect(await this.#stop()).toBe(0);
    await expect.poll(() => withServerMark(this.#mark).map(argumentsOf), PATIENCE).toEqual([]);
    await expect.poll(() => workingIn(this.#folder).map(argumentsOf), PATIENCE).toEqual([]);
    expect(PLACES.flatMap((place) => filesIn(join(this.#folder, place)))).toEqual([]);
    expect(readdirSync(this.workspace)).toEqual([]);
    expect(ownMounts()).toBe(this.#mountsAround);
  }

  /** The most it takes while it is used as usual: launchers that wait come and go. */
  async #inUse(): Promise<Use> {
    let most = this.#use();
    for (let round = 0; round < 3; round++) {
      await this.serves();
      for (let look = 0; look < 20; look++) {
        most = raisedTo(this.#use(), most);
        await delay(20);
      }
    }
    return { ...most, mounts: this.#use().mounts };
  }

  #use(): Use {
    const { pid } = this;
    const children = childrenOf(pid);
    return {
      descriptors: descriptorsSeen(pid),
      children: children.length,
      zombies: children.filter(({ state }) => state === 'Z').length,
      processes: withServerMark(this.#mark).length,
      mounts: readFileSync(`/proc/${pid}/mountinfo`, 'utf8'),
    };
  }

  #watchedUse(): { name: string; descriptors: number }[] {
    return [...this.#watched].map(([name, { pid, descriptors }]) => ({
      name,
      descriptors: Math.max(descriptorsSeen(pid), descriptors),
    }));
  }

  /** As the server sees it, which may have mounts of its own. */
  async #filesSeen(): Promise<string[]> {
    await using client = await this.connect();
    const script = 'find "$1" -mindepth 1; shift; find "$@" ! -type d 2>&1';
    const argv = ['sh', '-c', script, 'sh', ...PLACES.map((place) => join(this.#folder, place))];
    const found = await client.start({ argv });
    await found.closed();
    return found.output().split('\n').filter(Boolean);
  }

  async #stop(): Promise<unknown> {
    const child: ChildProcess = this.server.process;
    if (!this.#isWrapped || child.exitCode !== null) return this.server.stop();
    const ended = once(child, 'exit');
    process.kill(childrenOf(this.server.pid)[0]!.pid, 'SIGTERM'); // what stands before it does not pass the signal on
    const [code, signal] = await ended;
    return code ?? signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}

/** Longer than anything of a server is kept for the next client. */
const PATIENCE = { timeout: 40_000, interval: 100 };

/** `now` with each count raised to that of `before`: the result equals `before` when nothing is counted more often. */
const raisedTo = (now: Use, before: Use): Use => ({
  ...now,
  descriptors: Math.max(now.descriptors, before.descriptors),
  children: Math.max(now.children, before.children),
  processes: Math.max(now.processes, before.processes),
});

/** A hardened program shows its descriptors to root alone; other users look at everything else. */
const descriptorsSeen = (pid: number): number => (process.getuid!() === 0 ? descriptorsOf(pid) : 0);

const ownMounts = (): string => readFileSync('/proc/self/mountinfo', 'utf8');

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));

/** Starts what follows after a command of the shell. */
export const afterShell = (script: string): string[] => ['sh', '-c', `${script}; exec "$@"`, 'sh'];

/** Words that give what follows namespaces of its own; an ordinary user needs one of users for that. */
export const unshared = (...flags: string[]): string[] => [
  'unshare',
  ...(process.getuid!() === 0 ? [] : ['--map-root-user']),
  ...flags,
];

/** Runs a command in the pid namespace of a process. */
export function runBeside(pid: number, argv: readonly string[]): void {
  const asUser = process.getuid!() === 0 ? [] : ['--user', '--preserve-credentials'];
  execFileSync('nsenter', ['--target', String(pid), '--pid', ...asUser, ...argv]);
}
