import { silentLogger } from '../base/index.ts';
import { Host } from '../host/index.ts';
import { type ExecServerRuntimePaths, hardenProcess, nativeStatus, useRuntimePaths } from '../host/os/index.ts';
import { secretPaths, stateFolder } from '../host/own/index.ts';
import { DEFAULT_LISTEN_URL, parseListenUrl } from './listen-url.ts';
import { type ServeOptions, serve } from './serve.ts';

export interface RunMainOptions extends Partial<Omit<ServeOptions, 'host' | 'address'>> {
  /** `ws://IP:PORT`, `wss://IP:PORT` (with `tls`), `unix:/PATH`, `fd:N` (an inherited socket) or `stdio`; the default is `DEFAULT_LISTEN_URL`. */
  readonly listenUrl?: string;
  /** Where the native parts are. Needed when this code is bundled into another program; the package finds its own. */
  readonly runtimePaths?: ExecServerRuntimePaths;
  /** The variables of the program, usually `process.env`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Files and directories with secrets, to be hidden from sandboxed commands beside those of the server itself. */
  readonly secrets?: readonly string[];
}

/**
 * Makes this process an exec-server until the signal aborts or, on stdio, the input ends. Other processes of the same user can no
 * longer inspect the whole process; a program that only wants a server inside uses `serve`.
 */
export async function runMain(options: RunMainOptions, signal: AbortSignal): Promise<void> {
  const { listenUrl = DEFAULT_LISTEN_URL, runtimePaths, environment, secrets = [], ...rest } = options;
  const address = parseListenUrl(listenUrl);
  if (runtimePaths) useRuntimePaths(runtimePaths);
  const native = nativeStatus();
  if (!native.ready) throw new Error(native.reason);
  hardenProcess();
  secretPaths.add(...secrets, stateFolder(environment as NodeJS.ProcessEnv));
  const defaults: Pick<ServeOptions, 'auth' | 'log' | 'announce'> = {
    auth: { type: 'none' },
    log: silentLogger,
    announce: (url) => process.stdout.write(`${url}\n`),
  };
  await serve({ ...defaults, ...rest, host: new Host({ environment }), address }, signal);
}
