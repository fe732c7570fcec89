import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { argumentsOf, childrenOf, descriptorsOf } from '../support/proc.ts';
import { announced, prepared, serverProgram, type TestServer } from '../support/server.ts';
import { connect, type WebSocketClient } from '../support/wire-client.ts';

/** A fault that takes longer than the sample of `.ci/run` may. */
export const slow = it.skipIf(process.env.FAULTS_SAMPLE === '1');

export interface FaultRigOptions {
  /** Words before the command line of the server, such as a shell that sets a limit first. */
  readonly under?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Whether the words before stay as its parent. */
  readonly isWrapped?: boolean;
}

interface Facts {
  readonly descriptors: number;
  readonly children: number;
  readonly zombies: number;
  readonly mounts: string;
  readonly workspace: readonly string[];
}

/** A server that has worked, and what it had then: after a fault it serves, and has no more than that. */
export class FaultRig implements AsyncDisposable {
  readonly server: TestServer;
  readonly folder: string;
  readonly workspace: string;
  readonly #isWrapped: boolean;
  #before: Facts | undefined;

  private constructor(server: TestServer, folder: string, isWrapped: boolean) {
    this.server = server;
    this.folder = folder;
    this.workspace = join(folder, 'workspace');
    this.#isWrapped = isWrapped;
  }

  static newFolder(): string {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-fault-')));
    mkdirSync(join(folder, 'workspace'));
    return folder;
  }

  static async start(options: FaultRigOptions = {}, folder = FaultRig.newFolder()): Promise<FaultRig> {
    const { under = [], args = [], env = {}, isWrapped = false } = options;
    const program = [process.execPath, serverProgram, '--detached-session-ttl-ms', '0', ...args];
    const [command, ...words] = [...under, ...program];
    const child = spawn(command!, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, EXEC_SERVER_LOG: 'debug', ...env },
    });
    const rig = new FaultRig(await announced(child), folder, isWrapped);
    await prepared(rig.server);
    rig.#before = await rig.#inUse();
    return rig;
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

  /** The members of a request that confine it to the workspace. */
  get sandbox(): object {
    const special = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });
    const entries = [special('root', 'read'), special('project_roots', 'write')];
    const workspace = pathToFileURL(this.workspace).href;
    return {
      permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
      windowsSandboxLevel: 'disabled',
      cwd: workspace,
      workspaceRoots: [workspace],
    };
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

  /** The server serves, and no process, descriptor or mount point is left of what happened. */
  async recovered(): Promise<void> {
    await this.serves();
    const { descriptors, children, mounts } = this.#before!;
    await expect
      .poll(
        () => {
          const now = this.#facts();
          return {
            ...now,
            descriptors: Math.max(now.descriptors, descriptors),
            children: Math.max(now.children, children),
          };
        },
        { timeout: 25_000, interval: 100 },
      )
      .toEqual({ descriptors, children, zombies: 0, mounts, workspace: [] });
  }

  /** The most it has while it is used as usual: launchers that wait come and go. */
  async #inUse(): Promise<Facts> {
    let most = this.#facts();
    for (let round = 0; round < 3; round++) {
      await this.serves();
      for (let look = 0; look < 20; look++) {
        const now = this.#facts();
        const descriptors = Math.max(most.descriptors, now.descriptors);
        most = { ...now, descriptors, children: Math.max(most.children, now.children) };
        await delay(20);
      }
    }
    return most;
  }

  #facts(): Facts {
    const { pid } = this;
    const children = childrenOf(pid);
    return {
      descriptors: descriptorsOf(pid),
      children: children.length,
      zombies: children.filter(({ state }) => state === 'Z').length,
      mounts: readFileSync(`/proc/${pid}/mountinfo`, 'utf8'),
      workspace: readdirSync(this.workspace),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isWrapped && this.server.process.exitCode === null) {
      const ended = once(this.server.process, 'exit');
      process.kill(this.pid, 'SIGTERM'); // what stands before it does not pass the signal on
      await ended;
    } else await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Starts what follows after a command of the shell. */
export const afterShell = (script: string): string[] => ['sh', '-c', `${script}; exec "$@"`, 'sh'];

/** Words that give what follows namespaces of its own; an ordinary user needs one of users for that. */
export const unshared = (...flags: string[]): string[] => [
  'unshare',
  ...(process.getuid!() === 0 ? [] : ['--map-root-user']),
  ...flags,
];
