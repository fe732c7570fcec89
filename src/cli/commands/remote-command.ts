import { type HarnessFacts, Login, relayedGrant } from '../../access/index.ts';
import { type Logger, onAbort, once, Scope } from '../../base/index.ts';
import type { Host } from '../../host/index.ts';
import {
  type Credentials,
  ExecutorCredentials,
  forwardTo,
  parseEnvironmentId,
  parseRegistryUrl,
  type RemoteEnvironmentConfig,
  runDirectEnvironment,
  runPlainEnvironment,
  runRemoteEnvironment,
} from '../../relay/remote/index.ts';
import type { Link } from '../../rpc/index.ts';
import { type ExecServerConfig, Operations, openConnectionPoint } from '../../server/index.ts';
import { optimizeSooner } from '../optimizer.ts';
import { chooseCredentials, takeAwsAccess } from '../remote-credentials.ts';
import type { RemoteValues } from '../remote-options.ts';
import { readFlag } from '../usage-error.ts';

export interface RemoteCommandOptions {
  readonly host: Host;
  readonly values: RemoteValues;
  readonly settings: Partial<ExecServerConfig>;
  readonly sandboxPidNamespace?: 'isolate' | 'inherit' | undefined;
  /** A server to forward all connections to, instead of serving them here. */
  readonly destination?: { readonly url: string; readonly token?: string };
  readonly log: Logger;
  /** Called once harnesses can connect. */
  readonly ready?: () => void;
  /** Called with a function that changes the settings while serving. */
  readonly changes?: (change: (settings: Partial<ExecServerConfig>) => void) => void;
}

/** Serves as a remote environment until the signal aborts, or stdin ends if that was asked for. */
export async function serveRemotely(options: RemoteCommandOptions, signal: AbortSignal): Promise<void> {
  const { values, host } = options;
  const log = options.log.with({ name: values.name ?? 'codex-exec-server' });
  const environmentId = readFlag(() => parseEnvironmentId(values['environment-id'] ?? ''));
  const registryUrl = values.remote ?? '';
  readFlag(() => parseRegistryUrl(registryUrl));
  const serve = await chooseTransport(values, environmentId, host);
  await using scope = new Scope();
  const stop = new AbortController();
  const { accept, point, operations } = await receiver({ ...options, log }, scope, signal);
  onAbort(signal, () => void (point?.finish() ?? Promise.resolve()).finally(() => stop.abort()));
  if (stopsWithStdin(values)) process.stdin.resume().once('end', () => stop.abort());
  options.changes?.((settings) => {
    operations?.configure(settings);
    point?.configure(relayedConfig(settings));
  });
  optimizeSooner();
  const registerTimeoutMs = seconds(values['register-timeout']);
  const onRegistered = once(() => {
    if (process.stderr.isTTY) process.stderr.write(`registered as ${environmentId} with ${registryUrl}\n`);
    options.ready?.();
  });
  await serve(
    { registryUrl, environmentId, accept, registerTimeoutMs, onRegistered, outgoing: host.outgoing, log },
    stop,
  );
}

type Serve = (config: Omit<RemoteEnvironmentConfig, 'credentials'>, stop: AbortController) => Promise<void>;

/** Chooses how to connect. Takes the secrets out of the environment before any child could inherit them. */
async function chooseTransport(values: RemoteValues, environmentId: string, { outgoing }: Host): Promise<Serve> {
  if (values['remote-transport'] === 'direct') {
    const aws = await takeAwsAccess(values, process.env);
    return (config, stop) => runDirectEnvironment({ ...config, aws }, stop.signal);
  }
  const credentials = await chooseCredentials(values, environmentId, process.env, outgoing);
  const run = values['remote-transport'] === 'plain' ? runPlainEnvironment : runRemoteEnvironment;
  return (config, stop) => untilCredentialsEnd(credentials, stop, run({ ...config, credentials }, stop.signal));
}

async function receiver(options: RemoteCommandOptions, scope: Scope, signal: AbortSignal) {
  const { host, destination, settings, sandboxPidNamespace, log } = options;
  if (destination !== undefined) {
    return {
      accept: readFlag(() => forwardTo(destination.url, log, { ...destination, outgoing: host.outgoing })),
      point: undefined,
      operations: undefined,
    };
  }
  const config = relayedConfig(settings);
  const operations = scope.own(
    await Operations.open({ config, admission: () => ({ auth: { type: 'none' } }), signal, log }),
  );
  const { audit, counters } = operations;
  const point = scope.own(await openConnectionPoint({ host, config, sandboxPidNamespace, log, audit, counters }));
  operations.watch(point);
  return {
    accept: (link: Link, harness: HarnessFacts = {}): void => {
      point.connect(link, { resumable: true, login: new Login(() => relayedGrant(harness)) });
    },
    point,
    operations,
  };
}

const relayedConfig = (settings: Partial<ExecServerConfig>): Partial<ExecServerConfig> => ({
  retainedOutputBytesPerProcess: RELAYED_OUTPUT_BYTES,
  ...settings,
});

/** More than for direct connections: the bound also covers output in flight, which takes longer through a relay. */
const RELAYED_OUTPUT_BYTES = 4 * 1024 * 1024;

const seconds = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text) * 1000;

function stopsWithStdin(values: RemoteValues): boolean {
  if (values['executor-credential-stdin']) return false; // the reader of the credentials stops at the end of stdin
  const { CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE: wanted = '' } = process.env;
  return values['exit-on-stdin-close'] === true || /^(1|true|yes|on)$/i.test(wanted);
}

/** Serves until the pipe of credentials ends, which happens when the parent that wrote them is gone. */
async function untilCredentialsEnd(credentials: Credentials, stop: AbortController, serving: Promise<void>) {
  if (!(credentials instanceof ExecutorCredentials)) return await serving;
  try {
    await Promise.race([serving, credentials.ended]);
  } finally {
    stop.abort();
    await serving.catch(() => {}); // the race has reported a failure, or the credentials have ended first
    credentials[Symbol.dispose]();
  }
}
