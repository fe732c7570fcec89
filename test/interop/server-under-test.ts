import { fileURLToPath } from 'node:url';
import { deferred } from '../../src/base/index.ts';
import { Program } from './program.ts';
import type { Workspace } from './workspace.ts';

const ours = fileURLToPath(new URL('../../dist/bin/exec-server.cjs', import.meta.url));

/** `INTEROP_SERVER` names another server, as a shell command line to which the flags are added. */
export const serverCommand = process.env.INTEROP_SERVER ?? `'${process.execPath}' '${ours}'`;

/** The server on a WebSocket of its own choice. */
export class ServerUnderTest implements AsyncDisposable {
  readonly #program: Program;

  constructor(workspace: Workspace, flags: readonly string[] = []) {
    this.#program = new Program({
      argv: ['/bin/sh', '-c', `exec ${serverCommand} "$@"`, 'server', '--listen', 'ws://127.0.0.1:0', ...flags],
      cwd: workspace.root,
      env: workspace.env({ CODEX_HOME: workspace.serverHome }),
    });
  }

  /** The address is the first line the server prints. */
  async url(): Promise<string> {
    const announced = deferred<string>();
    this.#program.onLine((line) => announced.resolve(line.trim()));
    void this.#program.ended.then(({ code }) =>
      announced.reject(new Error(`the server ended with code ${code} before it printed its address\n${this.stderr}`)),
    );
    const url = await announced.promise;
    if (!/^ws:\/\/127\.0\.0\.1:\d+$/.test(url)) throw new Error(`the server printed "${url}" instead of its address`);
    return url;
  }

  get stderr(): string {
    return this.#program.stderr;
  }

  kill(): void {
    this.#program.kill();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program[Symbol.asyncDispose]();
  }
}
