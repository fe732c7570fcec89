import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startServer, type TestServer } from '../../support/server.ts';
import { base64, connect, type WebSocketClient, type WireFailure } from '../../support/wire-client.ts';

const changing = new Set([
  'fs/writeFile',
  'fs/createDirectory',
  'fs/remove',
  'fs/copy',
  'fs/rename',
  'fs/setPermissions',
  'fs/open',
]);

/** A server, a connection to it, and a directory in which the test may do what it likes. */
export class FilesFixture implements AsyncDisposable {
  readonly server: TestServer;
  readonly client: WebSocketClient;
  readonly folder: string;

  private constructor(server: TestServer, client: WebSocketClient, folder: string) {
    this.server = server;
    this.client = client;
    this.folder = folder;
  }

  static async open(): Promise<FilesFixture> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-files-')));
    const server = await startServer();
    return new FilesFixture(server, await connect(server.url), folder);
  }

  /** A native path in the directory. */
  at(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** The URI of a path in the directory, which may hold bytes in percent notation. */
  uri(name = ''): string {
    return `${pathToFileURL(this.folder).href}${name === '' ? '' : `/${name}`}`;
  }

  /** Sends a request; what could change something is sent only when it is about the directory. */
  call<R = Record<string, unknown>>(method: string, params: Readonly<Record<string, unknown>>): Promise<R> {
    for (const member of changing.has(method) ? ['path', 'sourcePath', 'destinationPath'] : []) {
      const place = params[member];
      if (place === undefined || (member === 'sourcePath' && method === 'fs/copy')) continue;
      const inside = new URL(String(place)).href.startsWith(`${this.uri()}/`);
      if (!inside) throw new Error(`${method} of ${place} leaves the directory of the test`);
    }
    return this.client.call<R>(method, params);
  }

  write(name: string, content: string | Uint8Array, more: object = {}): Promise<unknown> {
    return this.call('fs/writeFile', { path: this.uri(name), dataBase64: base64(content), ...more });
  }

  async read(name: string, more: object = {}): Promise<Buffer> {
    const { dataBase64 } = await this.call<{ dataBase64: string }>('fs/readFile', { path: this.uri(name), ...more });
    return Buffer.from(dataBase64, 'base64');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The error a request is answered with. */
export async function refusal(answer: Promise<unknown>): Promise<{ code: number; message: string }> {
  try {
    await answer;
  } catch (error) {
    const { code, message } = error as WireFailure;
    return { code, message };
  }
  throw new Error('the request was expected to be refused');
}
