import { type Logger, silentLogger } from '../../../base/index.ts';
import { memoryLinkPair } from '../../../link/index.ts';
import { type ExecServerConfig, type Host, openConnectionPoint } from '../../../server/index.ts';
import { ClientBackend, type ExecBackend } from './exec-backend.ts';

export interface LocalBackendOptions {
  /** This machine, as this program uses it: `new Host({ environment: process.env })`. */
  readonly host: Host;
  readonly config?: Partial<ExecServerConfig>;
  readonly log?: Logger;
}

/** Runs commands on this machine, through a client of a server in this process; disposal ends them. */
export function localBackend({ host, config = {}, log = silentLogger }: LocalBackendOptions): ExecBackend {
  const opening = openConnectionPoint({ host, config, log });
  const connector = async () => {
    const [ours, theirs] = memoryLinkPair();
    (await opening).connect(theirs, { resumable: false });
    return ours;
  };
  const server = {
    async [Symbol.asyncDispose]() {
      const opened = await opening.catch(() => undefined); // the connector has thrown it to its callers
      await opened?.[Symbol.asyncDispose]();
    },
  };
  return new ClientBackend({ connector, isLocal: true, variables: host.environment, server });
}
