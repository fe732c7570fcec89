import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { rolldown } from 'rolldown';
import { platformName } from '../../../src/host/os/index.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { EXEC_SERVER_PACKAGE: given } = process.env;

/** Whether the package has a patched Bash: a released one does. */
export const hasBash = given !== undefined || existsSync(join(root, 'build', 'bash', 'bash'));

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The package, installed with npm into an empty directory where nothing but Node, npm and a shell is on the PATH. It is the
 * one that `EXEC_SERVER_PACKAGE` names, or one made of what has been built for this machine.
 */
export class Installation implements AsyncDisposable {
  // Outside the source tree, where no native file of its own can be found by chance.
  readonly #folder = mkdtempSync(join(tmpdir(), 'package-'));
  readonly #project = this.#made('project');
  readonly #path = this.#made('path');
  readonly env = { PATH: this.#path, HOME: process.env.HOME ?? '/', EXEC_SERVER_HOME: this.#made('home') };

  static async create(): Promise<Installation> {
    const installation = new Installation();
    await installation.#install();
    return installation;
  }

  get program(): string {
    return join(this.#project, 'node_modules', '.bin', 'exec-server');
  }

  /** The entries of npm's lock file, one per installed package. */
  get packages(): Record<string, { hasInstallScript?: boolean }> {
    const lock = readFileSync(join(this.#project, 'node_modules', '.package-lock.json'), 'utf8');
    return (JSON.parse(lock) as { packages: Record<string, { hasInstallScript?: boolean }> }).packages;
  }

  /** Runs the installed program to its end. */
  run(...args: string[]): Promise<Outcome> {
    return this.#run(this.program, args);
  }

  /** Imports every part of the package from a module of the project. */
  async importAll(): Promise<{ specifiers: string[]; outcome: Outcome }> {
    const specifiers = this.#specifiers;
    const script = specifiers.map((specifier) => `await import(${JSON.stringify(specifier)});`).join('\n');
    return { specifiers, outcome: await this.#run('node', ['--input-type=module', '--eval', script]) };
  }

  get #specifiers(): string[] {
    const manifest = readFileSync(join(this.#project, 'node_modules', 'exec-server', 'package.json'), 'utf8');
    const { exports } = JSON.parse(manifest) as { exports: Record<string, unknown> };
    return Object.keys(exports).map((path) => path.replace(/^\./, 'exec-server'));
  }

  /** Checks the declarations of every part, with those of Node beside them and no others. */
  async checkDeclarations(): Promise<Outcome> {
    const imports = this.#specifiers.map((part, index) => `export type * as part${index} from '${part}';\n`).join('');
    writeFileSync(join(this.#project, 'parts.mts'), imports);
    return await this.#compile('parts.mts');
  }

  /**
   * Checks a TypeScript program against the declarations of the package, bundles it with everything it imports into one file in
   * an empty directory, and puts the native parts into another. Gives both.
   */
  async bundle(program: string): Promise<{ file: string; native: string }> {
    const input = join(this.#project, 'program.mts');
    writeFileSync(input, program);
    const checked = await this.#compile('program.mts');
    if (checked.code !== 0) throw new Error(checked.stdout);
    const build = await rolldown({ input, platform: 'node', transform: { target: 'node20.19' } });
    const file = join(this.#made('bundle'), 'program.mjs');
    await build.write({ file, format: 'esm', codeSplitting: false });
    const native = join(this.#made('parts'), 'anywhere');
    cpSync(join(this.#project, 'node_modules', 'exec-server', 'vendor', platformName(), 'native'), native, {
      recursive: true,
    });
    return { file, native };
  }

  async #compile(file: string): Promise<Outcome> {
    const types = join(this.#project, 'node_modules', '@types');
    mkdirSync(types, { recursive: true });
    if (!existsSync(join(types, 'node')))
      symlinkSync(join(root, 'node_modules', '@types', 'node'), join(types, 'node'));
    const compilerOptions = {
      target: 'es2022',
      module: 'nodenext',
      strict: true,
      exactOptionalPropertyTypes: true,
      lib: ['es2023', 'esnext.disposable'],
      noEmit: true,
      types: ['node'],
    };
    writeFileSync(join(this.#project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    return await this.#run(process.execPath, [compiler, '-p', this.#project]);
  }

  /** Runs a file to its end, in its own directory. */
  runFile(file: string, ...args: string[]): Promise<Outcome> {
    return this.#run('node', [file, ...args], dirname(file));
  }

  /** Serves until it is disposed of. */
  async serve(): Promise<AsyncDisposable & { readonly url: string }> {
    const server = spawn(this.program, ['--listen', 'ws://127.0.0.1:0'], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(server, 'exit');
    const [url] = (await Promise.race([once(createInterface({ input: server.stdout }), 'line'), ended])) as [unknown];
    if (typeof url !== 'string') throw new Error(`the server ended with ${url} before it printed its address`);
    return {
      url,
      async [Symbol.asyncDispose]() {
        server.kill();
        await ended;
      },
    };
  }

  /** A client of the installed MCP server. */
  async mcp(...args: string[]): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' });
    const command = { command: this.program, args: ['mcp', ...args], env: this.env, cwd: this.#project };
    await client.connect(new StdioClientTransport(command));
    return client;
  }

  /** Calls `work` while the package has native files for other platforms only. */
  async withoutNativeFiles<T>(work: () => Promise<T>): Promise<T> {
    const vendor = join(this.#project, 'node_modules', 'exec-server', 'vendor');
    const [own, other] = [join(vendor, platformName()), join(vendor, 'linux-other-musl')];
    renameSync(own, other);
    try {
      return await work();
    } finally {
      renameSync(other, own);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #run(program: string, args: string[], cwd = this.#project): Promise<Outcome> {
    try {
      const finished = await promisify(execFile)(program, args, { env: this.env, cwd });
      return { code: 0, ...finished };
    } catch (error) {
      return error as Error & Outcome;
    }
  }

  async #install(): Promise<void> {
    const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
    const programs = { node: process.execPath, npm, sh: '/bin/sh' };
    for (const [name, program] of Object.entries(programs)) symlinkSync(program, join(this.#path, name));
    const options = ['--prefix', this.#project, '--prefer-offline', '--no-audit', '--no-fund'];
    const args = ['install', ...options, await this.#tarball()];
    await promisify(execFile)('npm', args, { cwd: this.#project, env: { ...process.env, PATH: this.#path } });
  }

  async #tarball(): Promise<string> {
    if (given !== undefined) return given;
    const args = [join(root, 'scripts', 'package.mjs'), '--own', '--output', this.#made('package')];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return stdout.trim();
  }

  #made(name: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    return folder;
  }
}
