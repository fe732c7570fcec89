import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referenceBinary } from '../support/reference.ts';
import { announced, serverProgram, type TestServer } from '../support/server.ts';

/** Where both servers see their scratch directory; the reference puts helpers below its home, and refuses to do so in `/tmp`. */
export const SCRATCH = '/mnt/w';

/** Where both servers see this checkout, which may be below the `/tmp` that they do not see. */
const CHECKOUT = '/mnt/checkout';
const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** One server behind a read-only root, with a scratch directory of its own in the place where the other has its own. */
export class ConfinedServer implements AsyncDisposable {
  readonly name: string;
  /** The scratch directory as this process sees it. */
  readonly scratch: string;
  readonly #server: TestServer;

  private constructor(name: string, scratch: string, server: TestServer) {
    this.name = name;
    this.scratch = scratch;
    this.#server = server;
  }

  static async start(name: 'reference' | 'ours'): Promise<ConfinedServer> {
    const scratch = realpathSync(mkdtempSync(join(tmpdir(), `exec-server-fuzz-${name}-`)));
    mkdirSync(join(scratch, 'home'));
    writeFileSync(join(scratch, 'home/empty'), '');
    const startUp = 'export GREETING=hello\ngreet() { echo "greeted $1"; }\n';
    for (const name of ['.profile', '.bashrc']) writeFileSync(join(scratch, 'home', name), startUp);
    const program =
      name === 'ours' ? [process.execPath, seen(serverProgram)] : [seen(await referenceBinary()), 'exec-server'];
    const view = [
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--tmpfs',
      '/tmp',
      '--tmpfs',
      '/mnt',
      '--bind',
      scratch,
      SCRATCH,
      '--ro-bind',
      checkout,
      CHECKOUT,
      // The start-up files of the machine take no part.
      '--ro-bind',
      join(scratch, 'home/empty'),
      '/etc/profile',
    ];
    // The reference leaves running what it started; with its first process ends everything.
    if (name === 'reference') view.push('--unshare-pid');
    const child = spawn('bwrap', [...view, '--die-with-parent', '--', ...program, '--listen', 'ws://127.0.0.1:0'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: '/',
      env: {
        PATH: '/usr/bin:/bin',
        HOME: `${SCRATCH}/home`,
        CODEX_HOME: `${SCRATCH}/home`,
        EXEC_SERVER_LOG: 'error',
        RUST_LOG: 'off',
      },
    });
    return new ConfinedServer(name, scratch, await announced(child));
  }

  get url(): string {
    return this.#server.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop('SIGTERM');
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

/** The path of a program in the view; one outside this checkout is where it is. */
function seen(program: string): string {
  const within = relative(checkout, program);
  return within.startsWith('..') ? program : join(CHECKOUT, within);
}
