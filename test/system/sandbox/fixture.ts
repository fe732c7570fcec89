import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { publicProgram } from '../../support/public-program.ts';
import { announced, serverProgram, type TestServer } from '../../support/server.ts';
import type { TrackedProcess } from '../../support/tracked-process.ts';
import { connect, type WebSocketClient } from '../../support/wire-client.ts';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const NOBODY = 65_534;

/** Who the server can run as here. */
export const accounts: readonly Account[] =
  process.getuid!() === 0
    ? [
        { name: 'root', uid: 0, gid: 0 },
        { name: 'an unprivileged user', uid: NOBODY, gid: NOBODY },
      ]
    : [{ name: 'the current user', uid: process.getuid!(), gid: process.getgid!() }];

type Entry = Readonly<Record<string, unknown>>;

export const uri = (path: string): string => pathToFileURL(path).href;
export const special = (kind: string, access: string, more: object = {}): Entry => ({
  path: { type: 'special', value: { kind, ...more } },
  access,
});
export const path = (at: string, access: string): Entry => ({ path: { type: 'path', path: uri(at) }, access });
export const glob = (pattern: string): Entry => ({ path: { type: 'glob_pattern', pattern }, access: 'deny' });

export const readOnly = [special('root', 'read')];
export const workspaceWrite = [special('root', 'read'), special('project_roots', 'write')];
export const restrictedRead = [special('minimal', 'read'), special('project_roots', 'write')];

export interface RunOptions {
  readonly entries?: readonly Entry[];
  readonly network?: 'restricted' | 'enabled';
  readonly env?: Readonly<Record<string, string>>;
  readonly sandbox?: Readonly<Record<string, unknown>>;
  readonly cwd?: string;
  readonly tty?: boolean;
  readonly stdin?: 'open';
  readonly argv?: readonly string[];
  /** Members of the start besides the usual ones. */
  readonly start?: Readonly<Record<string, unknown>>;
}

export interface Denial {
  readonly kind: string;
  readonly path?: string;
  readonly address?: string;
  readonly program: string;
}

export interface Outcome {
  readonly exitCode: number;
  readonly denied: boolean;
  /** What the client is told about refusals, if anything. */
  readonly denials: readonly Denial[] | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A Node and what it runs. */
export interface Started {
  readonly node: string;
  readonly script: string;
}

export interface SandboxFixtureOptions {
  /** Installs the program that is to be the server; the fixture is left as that makes it. */
  readonly program?: (folder: string) => Started;
  /** Arguments of the server besides its address. */
  readonly args?: readonly string[];
  /** What a client sends to be let in. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of `initialize` besides the usual ones. */
  readonly initializeParams?: Readonly<Record<string, unknown>>;
}

/** A server, a workspace with a repository in it, and a directory outside with a secret. */
export class SandboxFixture implements AsyncDisposable {
  readonly server: TestServer;
  readonly client: WebSocketClient;
  readonly account: Account;
  readonly #folder: string;

  private constructor(server: TestServer, client: WebSocketClient, account: Account, folder: string) {
    this.server = server;
    this.client = client;
    this.account = account;
    this.#folder = folder;
  }

  static async open(
    account: Account,
    env: NodeJS.ProcessEnv = {},
    options: SandboxFixtureOptions = {},
  ): Promise<SandboxFixture> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-fixture-')));
    mkdirSync(stateOf(folder));
    chownSync(stateOf(folder), account.uid, account.gid);
    const program = options.program?.(folder);
    const server = await startAs(account, { XDG_STATE_HOME: stateOf(folder), ...env }, { ...options, program });
    const fixture = new SandboxFixture(server, await connect(server.url, options), account, folder);
    chownSync(folder, account.uid, account.gid);
    if (program === undefined) fixture.reset();
    return fixture;
  }

  get workspace(): string {
    return join(this.#folder, 'workspace');
  }

  get outside(): string {
    return join(this.#folder, 'outside');
  }

  /** Everything as it was at the beginning. */
  reset(): void {
    for (const name of readdirSync(this.#folder)) rmSync(join(this.#folder, name), { recursive: true, force: true });
    for (const name of ['workspace/.git/hooks', 'workspace/sub', 'outside']) this.mkdir(name);
    this.write('workspace/.git/config', '[core]\n');
    this.write('workspace/a.txt', 'a\n');
    this.write('outside/secret', 'secret\n');
  }

  /** A path in the fixture. */
  at(name: string): string {
    return join(this.#folder, name);
  }

  mkdir(name: string): void {
    mkdirSync(this.at(name), { recursive: true });
    for (let made = this.at(name); made !== this.#folder; made = join(made, '..')) this.#own(made);
  }

  write(name: string, text: string | Uint8Array): void {
    writeFileSync(this.at(name), text);
    this.#own(this.at(name));
  }

  /** Starts a shell command in a sandbox. */
  async start(script: string, options: RunOptions = {}): Promise<TrackedProcess> {
    const {
      entries = workspaceWrite,
      network = 'restricted',
      env,
      sandbox,
      cwd = this.workspace,
      tty,
      stdin,
      argv,
      start,
    } = options;
    return this.client.start({
      argv: argv ?? ['/bin/bash', '-c', script],
      cwd: uri(cwd),
      env: { PATH: '/usr/bin:/bin', W: this.workspace, O: this.outside, ...env },
      tty: tty ?? false,
      pipeStdin: stdin === 'open',
      sandbox: {
        permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network },
        windowsSandboxLevel: 'disabled',
        cwd: uri(this.workspace),
        workspaceRoots: [uri(this.workspace)],
        ...sandbox,
      },
      ...start,
    });
  }

  async run(script: string, options: RunOptions = {}): Promise<Outcome> {
    return outcomeOf(await this.start(script, options));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.server.stop();
    spawnSync('chmod', ['-R', 'u+rwX', this.#folder]); // commands close directories to their own user
    for (const folder of [this.#folder, stateOf(this.#folder)]) rmSync(folder, { recursive: true, force: true });
  }

  #own(at: string): void {
    if (!lstatSync(at).isSymbolicLink()) chownSync(at, this.account.uid, this.account.gid);
  }
}

/** Where the server keeps notes of its own. */
function stateOf(folder: string): string {
  return `${folder}-state`;
}

export async function outcomeOf(process: TrackedProcess): Promise<Outcome> {
  await process.closed();
  const exited = process.notices.find(({ method }) => method === 'process/exited')!;
  return {
    exitCode: exited.params.exitCode as number,
    denied: exited.params.sandboxDenied as boolean,
    denials: exited.params.denials as readonly Denial[] | undefined,
    stdout: process.output('stdout'),
    stderr: process.output('stderr'),
  };
}

async function startAs(
  { uid, gid }: Account,
  env: NodeJS.ProcessEnv,
  { program, args = [] }: { program?: Started | undefined; args?: readonly string[] },
): Promise<TestServer> {
  const another = uid !== process.getuid!();
  const { node, script } = program ?? { node: process.execPath, script: another ? publicProgram() : serverProgram };
  const child = spawn(node, [script, '--listen', 'ws://127.0.0.1:0', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: '/usr/bin:/bin', ...env },
    cwd: '/',
    ...(another && { uid, gid }),
  });
  return announced(child);
}
