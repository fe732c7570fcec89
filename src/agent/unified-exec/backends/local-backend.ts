import { type Logger, Scope, silentLogger } from '../../../base/index.ts';
import { memoryLinkPair } from '../../../link/index.ts';
import { type ExecServerConfig, type Host, openConnectionPoint } from '../../../server/index.ts';
import { type ExecBackend, remoteBackend } from './exec-backend.ts';

export interface LocalBackendOptions {
  /** This machine as this program uses it: `new Host({ environment: process.env })`. */
  readonly host: Host;
  readonly config?: Partial<ExecServerConfig>;
  readonly log?: Logger;
}

/** Runs commands on this machine, by the same code a server runs them with; disposal ends them. */
export function localBackend({ host, config = {}, log = silentLogger }: LocalBackendOptions): ExecBackend {
  const scope = new Scope();
  const server = openConnectionPoint({ host, config, log });
  scope.defer(async () => (await server.catch(() => undefined))?.[Symbol.asyncDispose]()); // what failed to open has told its callers
  const backend = scope.own(
    remoteBackend(async () => {
      const [ours, theirs] = memoryLinkPair();
      (await server).connect(theirs, { resumable: false });
      return ours;
    }),
  );
  return {
    isLocal: true,
    variables: host.environment,
    info: (signal) => backend.info(signal),
    start: (start, signal) => backend.start(start, signal),
    fileSystem: () => backend.fileSystem(),
    [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose](),
  };
}
