import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

// Not the system's temporary directory: the real server does not install its sandbox helper below it, and the
// workspace-write sandbox leaves it writable, so nothing there is outside.
const base = join(homedir(), '.cache', 'exec-server-interop');
const marker = 'EXEC_SERVER_INTEROP';
const inherited = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR'];
const goneWithinMs = 5_000;

/** The directories of one scenario; disposing it removes them and proves that no process is left. */
export class Workspace implements AsyncDisposable {
  readonly root: string;
  /** Where commands run. */
  readonly cwd: string;
  /** A directory that no sandbox lets a command write to. */
  readonly outside: string;
  readonly clientHome: string;
  readonly serverHome: string;

  private constructor(root: string) {
    this.root = root;
    this.cwd = join(root, 'work');
    this.outside = join(root, 'outside');
    this.clientHome = join(root, 'client-home');
    this.serverHome = join(root, 'server-home');
  }

  static async make(): Promise<Workspace> {
    await mkdir(base, { recursive: true });
    const workspace = new Workspace(await mkdtemp(join(await realpath(base), 'run-')));
    const { cwd, outside, clientHome, serverHome } = workspace;
    for (const directory of [cwd, outside, clientHome, serverHome]) await mkdir(directory);
    return workspace;
  }

  /**
   * A short list of variables, so that the caller's settings stay out. Inside a sandbox that answers getpeername(2)
   * with EPERM, bash believes a network daemon started it and reads ~/.bashrc, unless SHLVL says it is nested.
   */
  env(extra: Record<string, string>): Record<string, string> {
    const kept = inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
    const fixed = { SHLVL: '1', LANG: 'C.UTF-8', TERM: 'xterm', NO_PROXY: '127.0.0.1', [marker]: this.root };
    return { ...Object.fromEntries(kept), ...fixed, ...extra };
  }

  write(name: string, content: string | Uint8Array): Promise<void> {
    return writeFile(join(this.cwd, name), content);
  }

  read(name: string): Promise<string> {
    return readFile(join(this.cwd, name), 'utf8');
  }

  has(name: string): boolean {
    return existsSync(join(this.cwd, name));
  }

  /** Resolves once a command has made the file. */
  appears(name: string, signal: AbortSignal): Promise<void> {
    return fileAppears(join(this.cwd, name), signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#nothingRuns();
    } finally {
      await rm(this.root, { recursive: true, force: true });
    }
  }

  async #nothingRuns(): Promise<void> {
    const deadline = Date.now() + goneWithinMs;
    let left = await processesOf(this.root);
    while (left.length > 0 && Date.now() < deadline) {
      await delay(20);
      left = await processesOf(this.root);
    }
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    if (left.length > 0)
      throw new Error(`left running: ${left.map(({ pid, command }) => `${pid} ${command}`).join('; ')}`);
  }
}

export async function fileAppears(path: string, signal: AbortSignal): Promise<void> {
  while (!existsSync(path)) await delay(20, undefined, { signal });
}

/** Shell for "wait until the test makes this file", so that no scenario depends on how fast the machine is. */
export const untilFile = (name: string): string => `until [ -e ${name} ]; do sleep 0.05; done`;

/** Everything started by the scenario carries its root in the environment, even after its parent has changed. */
async function processesOf(root: string): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process that ends, or belongs to someone else, is none of ours.
      const [environ, command] = await Promise.all(
        ['environ', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
      );
      return environ?.split('\0').includes(`${marker}=${root}`)
        ? { pid, command: command?.replaceAll('\0', ' ') ?? '' }
        : undefined;
    }),
  );
  return found.filter((process) => process !== undefined);
}
