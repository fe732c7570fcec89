import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../support/command.ts';
import { startServer, type TestServer, type TestServerOptions } from '../../support/server.ts';

export interface TokenServerOptions extends TestServerOptions {
  /** Whether the flag names the file, and not the settings. */
  readonly named?: boolean;
}

/** A file of tokens, changed by the command line as an operator does. */
export class TokenFixture implements Disposable {
  readonly #owned: Disposable[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'tokens-'));
  readonly file = join(this.folder, 'tokens.json');

  /** Makes a token; gives its secret. */
  async add(name: string, scopes: string, ...more: readonly string[]): Promise<string> {
    const args = ['token', 'add', '--tokens-file', this.file, '--name', name, '--scopes', scopes, ...more];
    const { code, stdout, stderr } = await runCommand(args);
    if (code !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  async revoke(...names: readonly string[]): Promise<void> {
    const { code, stderr } = await runCommand(['token', 'revoke', '--tokens-file', this.file, ...names]);
    if (code !== 0) throw new Error(stderr);
  }

  /** Writes an entry that the command line would not. */
  enter(entry: Readonly<Record<string, unknown>>, secret: string): void {
    this.#edit((entries) => [...entries, { ...entry, sha256: sha256(secret) }]);
  }

  /** Changes members of an entry. */
  change(name: string, members: Readonly<Record<string, unknown>>): void {
    this.#edit((entries) => entries.map((entry) => (entry.name === name ? { ...entry, ...members } : entry)));
  }

  /** Disposes of something together with the file. */
  own<T extends Disposable>(owned: T): T {
    this.#owned.push(owned);
    return owned;
  }

  /** A server that accepts these tokens, without a terminal, so that SIGHUP means to read them again. */
  async server({ args = [], env, named = true, ...options }: TokenServerOptions = {}): Promise<TestServer> {
    return await startServer({
      ...options,
      args: [...args, ...(named ? ['--tokens-file', this.file] : [])],
      env: { EXEC_SERVER_LOG: 'info', ...env },
      detached: true,
    });
  }

  #edit(change: (entries: Record<string, unknown>[]) => object[]): void {
    const { tokens } = JSON.parse(readFileSync(this.file, 'utf8')) as { tokens: Record<string, unknown>[] };
    writeFileSync(this.file, JSON.stringify({ tokens: change(tokens) }));
  }

  [Symbol.dispose](): void {
    for (const owned of this.#owned) owned[Symbol.dispose]();
    rmSync(this.folder, { recursive: true });
  }
}

const sha256 = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The header of a client that presents a token. */
export const bearer = (token: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}` },
});

/** Has a server read its tokens again, and waits until it has. */
export async function reload(server: TestServer): Promise<void> {
  const next = server.nextLine('tokens.reloaded');
  server.process.kill('SIGHUP');
  await next;
}
