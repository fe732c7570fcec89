import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installIntoCache } from '../../scripts/npm-cache.mjs';
import { makeOutOfBounds } from '../support/out-of-bounds.ts';
import { serverProgram } from '../support/server.ts';
import { McpPeer, type PeerOptions, patchedBash, wrapper } from '../system/escalation/fixture.ts';

const VERSION = '0.97.0';
const triples: Record<string, string> = { x64: 'x86_64-unknown-linux-musl', arm64: 'aarch64-unknown-linux-musl' };

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The programs of the last release that had an exec MCP server. */
export interface Reference {
  readonly server: string;
  readonly wrapper: string;
  readonly bash: string;
  /** Runs as the sandbox helper when it is called so. */
  readonly codex: string;
}

/** From `SHELL_TOOL_MCP_HOME`, or the pinned npm packages, installed on first use. */
export async function reference(): Promise<Reference> {
  const home = process.env.SHELL_TOOL_MCP_HOME ?? join(root, `.cache/reference/shell-tool-mcp-${VERSION}`);
  await installIntoCache(home, `@openai/codex-shell-tool-mcp@${VERSION}`, `@openai/codex@${VERSION}`);
  const triple = triples[process.arch] ?? '';
  const vendor = join(home, 'node_modules/@openai/codex-shell-tool-mcp/vendor', triple);
  return {
    server: join(vendor, 'codex-exec-mcp-server'),
    wrapper: join(vendor, 'codex-execve-wrapper'),
    bash: join(vendor, 'bash/debian-12/bash'),
    codex: join(home, 'node_modules/@openai/codex/vendor', triple, 'codex/codex'),
  };
}

export type Maker = 'ours' | 'reference';

/** Who made which part. */
export interface Pairing {
  readonly server: Maker;
  readonly wrapper: Maker;
  readonly bash: Maker;
}

const makers = ['ours', 'reference'] as const;

export const pairings: Pairing[] = makers.flatMap((server) =>
  makers.flatMap((wrapper) => makers.map((bash) => ({ server, wrapper, bash }))),
);

export interface Outcome {
  readonly exit_code: number;
  readonly output: string;
}

/** A server of either make, with parts of either make, in directories of its own. */
export class ShellMcp implements AsyncDisposable {
  readonly #root: string;
  readonly work: string;
  readonly outside: string;
  readonly peer: McpPeer;
  /** The answer to `initialize`. */
  introduction: Record<string, unknown> = {};
  readonly #process: ChildProcessWithoutNullStreams;

  private constructor(pairing: Pairing, parts: Reference, rules: string, options: PeerOptions) {
    this.#root = makeOutOfBounds('shell-mcp');
    for (const name of ['work', 'outside', 'home/rules', 'bin']) mkdirSync(join(this.#root, name), { recursive: true });
    this.work = join(this.#root, 'work');
    this.outside = join(this.#root, 'outside');
    writeFileSync(join(this.#root, 'home/rules/default.rules'), rules.replaceAll('$OUTSIDE', this.outside));
    symlinkSync(parts.codex, this.#helper);
    const args = [
      ...['--bash', pairing.bash === 'ours' ? patchedBash : parts.bash],
      ...['--execve', pairing.wrapper === 'ours' ? wrapper : parts.wrapper],
    ];
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: join(this.#root, 'home'), CODEX_HOME: join(this.#root, 'home'), LANG: 'C.UTF-8' };
    this.#process =
      pairing.server === 'reference'
        ? spawn(parts.server, args, { env, cwd: this.#root })
        : spawn(process.execPath, [serverProgram, 'mcp', '--tools', 'shell', '--intercept=bash', ...args], { env });
    this.#process.stderr.resume();
    this.peer = new McpPeer(this.#process.stdin, this.#process.stdout, options);
  }

  static async start(pairing: Pairing, rules: string, options: PeerOptions = {}): Promise<ShellMcp> {
    const server = new ShellMcp(pairing, await reference(), rules, options);
    server.introduction = await server.peer.initialize('2025-03-26');
    await server.sandbox({ type: 'read-only' });
    return server;
  }

  async sandbox(sandboxPolicy: Record<string, unknown>): Promise<void> {
    await this.peer.request('codex/sandbox-state/update', {
      sandboxPolicy,
      codexLinuxSandboxExe: this.#helper,
      sandboxCwd: this.work,
    });
  }

  /** Runs a script with its errors among its output, because the reference does not keep their order. */
  async run(script: string, more: Record<string, unknown> = {}): Promise<Outcome> {
    const args = { command: `exec 2>&1\n${script}`, workdir: this.work, login: false, ...more };
    const result = await this.peer.request('tools/call', { name: 'shell', arguments: args });
    const [{ text }] = result.content as [{ text: string }];
    const { exit_code, output } = JSON.parse(text) as Outcome;
    return { exit_code, output: output.replaceAll(this.#root, '$ROOT').replaceAll(/^\S*bash: /gm, 'bash: ') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin.end();
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'exit');
    rmSync(this.#root, { recursive: true, force: true });
  }

  get #helper(): string {
    return join(this.#root, 'bin/codex-linux-sandbox');
  }
}
