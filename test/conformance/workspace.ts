import { chmod, mkdir, mkdtemp, readdir, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SetupStep } from './transcript.ts';

/** The directories of one run: the server's cwd, its HOME, CODEX_HOME and TMPDIR. */
export class Workspace implements AsyncDisposable {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** The name is part of every path: one transcript holds the variables that contain a word of its own name. */
  static async create(parent: string, name: string, setup: SetupStep[]): Promise<Workspace> {
    await mkdir(parent, { recursive: true });
    // One level deeper than it need be: transcripts look into the grandparent too, where a sandbox of another run may
    // have its mount points.
    const workspace = new Workspace(join(await mkdtemp(join(await realpath(parent), `${name}-`)), 'run'));
    await mkdir(workspace.#root);
    for (const name of ['work', 'home', 'codex-home', 'tmp']) await mkdir(workspace.path(name));
    for (const step of setup) await workspace.#apply(step);
    return workspace;
  }

  path(name: string): string {
    return join(this.#root, name);
  }

  get work(): string {
    return this.path('work');
  }

  /** Creates or rewrites a file of the work directory. */
  async touch(path: string, text: string): Promise<void> {
    const file = join(this.work, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }

  /** Processes that run in the work directory. */
  async inhabitants(): Promise<number[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const inside = await Promise.all(
      pids.map(async (pid) => {
        const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => ''); // gone, or not ours to look at
        return cwd === this.work || cwd.startsWith(`${this.work}/`);
      }),
    );
    return pids.filter((_, index) => inside[index]).map(Number);
  }

  /** Ends what still runs here, because the reference leaves its children behind, and removes the directories. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of await this.inhabitants()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {} // gone meanwhile
    }
    await rm(dirname(this.#root), { recursive: true, force: true, maxRetries: 5 });
  }

  async #apply({ op, path, text, target, mode }: SetupStep): Promise<void> {
    const file = join(this.work, path);
    if (op === 'write') await this.touch(path, text ?? '');
    if (op === 'mkdir') await mkdir(file, { recursive: true });
    if (op === 'symlink') await symlink(target ?? '', file);
    if (op === 'chmod') await chmod(file, Number.parseInt(mode ?? '', 8));
  }
}
