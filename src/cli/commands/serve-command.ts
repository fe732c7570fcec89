import { Host } from '../../host/index.ts';
import { hardenProcess, nativeStatus, runUnderInit } from '../../host/os/index.ts';
import { ownCredentialDigest, secretPaths, statePlace } from '../../host/own/index.ts';
import {
  DEFAULT_LISTEN_URL,
  defaultConfig,
  parseListenUrl,
  serve,
  sha256,
  type WebSocketAuth,
} from '../../server/index.ts';
import { describeOptions, parseOptions } from '../arguments.ts';
import { type AuthValues, authOptions, readAuth } from '../auth-options.ts';
import { handleFaults } from '../faults.ts';
import { reloadOnHangup, stopBySignals } from '../hangup.ts';
import { optimizeSooner } from '../optimizer.ts';
import { checkRemoteValues, type RemoteValues, remoteOptions } from '../remote-options.ts';
import { secretFiles } from '../secret-files.ts';
import { readSettings, settingOptions } from '../settings.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { exitAfterGrace } from '../stop-deadline.ts';
import { readTls, type TlsValues, tlsOptions } from '../tls-options.ts';
import { readFlag, UsageError } from '../usage-error.ts';
import type { RemoteCommandOptions } from './remote-command.ts';

const options = {
  listen: {
    type: 'string',
    value: 'URL',
    help: `where to listen: ws://IP:PORT or wss://IP:PORT (port 0 picks a free one), unix:/PATH, or stdio [default: ${DEFAULT_LISTEN_URL}]`,
  },
  ...tlsOptions,
  ...authOptions,
  'print-token-url': {
    type: 'boolean',
    help: 'generate a token that clients must present, and print a URL that contains it; run, cp, forward, mcp and webSocket() accept such a URL',
  },
  ...remoteOptions,
  'child-nofile': {
    type: 'string',
    value: 'N',
    help: 'soft limit of open files of commands [default: that of the parent process, or 1024 where that is pid 1]',
  },
  'linux-sandbox-pid-namespace': {
    type: 'string',
    value: 'MODE',
    help:
      'isolate (default) or inherit. With inherit sandboxed commands see all processes of the machine, may signal those of the ' +
      'same user, this server included, and leave daemons behind that outlive their termination and this server: those that ' +
      'lower the limit (RLIMIT_RTTIME) by which their family is known; enable it only in an environment made for one client',
  },
  config: {
    type: 'string',
    value: 'FILE',
    help: 'settings file [default: ~/.config/exec-server/exec-server.toml if it exists; env: EXEC_SERVER_CONFIG]',
  },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
  version: { type: 'boolean', short: 'V', help: 'show the version' },
} as const;

export const serveOptionsHelp = (): string => describeOptions({ ...options, ...settingOptions });

/** Serves until SIGTERM or SIGINT, or on stdio until the input ends; as a remote environment with `--remote`. */
export async function serveCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, { ...options, ...settingOptions });
  if (positionals.length > 0) throw new UsageError(`unexpected argument '${positionals[0]}'`);
  runUnderInit();
  checkRemoteValues(values as RemoteValues);
  const settings = await readSettings(values, process.env, values.config as string | undefined);
  const address = readFlag(() => parseListenUrl((values.listen as string | undefined) ?? DEFAULT_LISTEN_URL));
  const { auth, shown, reread: rereadAuth } = chooseAuth(values as AuthValues & { 'print-token-url'?: boolean });
  if (address.type === 'stdio' && values['print-token-url']) {
    throw new UsageError('--print-token-url cannot be used together with --listen stdio');
  }
  if (address.type === 'stdio' && auth.type !== 'none') {
    throw new UsageError('WebSocket auth requires a WebSocket listener, not stdio');
  }
  const native = nativeStatus();
  if (!native.ready) throw new Error(native.reason);
  hardenProcess(parseChildNofile(values['child-nofile'] as string | undefined));
  const sandboxPidNamespace = parsePidNamespace(values['linux-sandbox-pid-namespace'] as string | undefined);
  secretPaths.add(...secretFiles(values, process.env));
  const log = stderrLogger(process.env);
  const rereadTls = () => readTls(values as TlsValues, address, log);
  const tls = rereadTls();
  const host = new Host({ environment: process.env });
  const state = statePlace(process.env);
  if (state.reason) log.warn('state.kept_elsewhere', { ...state });
  if (process.geteuid?.() === 0) log.info('server.runs_as_root', { advice: 'run it as an ordinary user' });
  const stop = new AbortController();
  using faults = handleFaults(log, stop);
  stopBySignals(stop);
  let { shutdownGracePeriodMs } = settings;
  const graceMs = (): number => shutdownGracePeriodMs ?? defaultConfig.shutdownGracePeriodMs;
  exitAfterGrace(stop.signal, { graceMs, exitCode: () => (faults.isFatal ? 1 : 0), log });
  const reread = () => readSettings(values, process.env, values.config as string | undefined);
  if (values.remote !== undefined) {
    const { serveRemotely } = await import('./remote-command.ts');
    const changes: RemoteCommandOptions['changes'] = (change) =>
      reloadOnHangup(async () => {
        const next = await reread();
        change(next);
        ({ shutdownGracePeriodMs } = next);
      }, log);
    const served = { host, values: values as RemoteValues, settings, sandboxPidNamespace, log, changes };
    await serveRemotely(served, stop.signal);
    return faults.isFatal ? 1 : 0;
  }
  await serve(
    {
      host,
      address,
      auth,
      tls,
      config: settings,
      sandboxPidNamespace,
      allowUnauthenticated: values['allow-unauthenticated'] === true,
      log,
      announce: (url) => process.stdout.write(`${shown(url)}\n`),
      loaded: optimizeSooner,
      changes: (change) =>
        reloadOnHangup(async () => {
          const config = await reread();
          change({ config, auth: rereadAuth(), tls: rereadTls() });
          ({ shutdownGracePeriodMs } = config);
        }, log),
    },
    stop.signal,
  );
  return faults.isFatal ? 1 : 0;
}

interface ChosenAuth {
  readonly auth: WebSocketAuth;
  /** Reads the authentication options and their files again; a generated token stays. */
  readonly reread: () => WebSocketAuth;
  /** The URL as it is printed. */
  readonly shown: (url: string) => string;
}

/** A generated token is forgotten once its URL is printed; only the digest stays in memory. */
function chooseAuth(values: AuthValues & { 'print-token-url'?: boolean }): ChosenAuth {
  if (!values['print-token-url']) {
    const reread = (): WebSocketAuth => readAuth(values);
    return { auth: reread(), reread, shown: (url) => url };
  }
  const other = (Object.keys(authOptions) as (keyof AuthValues)[]).find(
    (name) => name.startsWith('ws-') && values[name],
  );
  if (other) throw new UsageError(`--print-token-url cannot be used together with --${other}`);
  let token = process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
  const digest = sha256(token);
  ownCredentialDigest(digest);
  const auth: WebSocketAuth = { type: 'capability-token', sha256: digest };
  return {
    auth,
    reread: () => auth,
    shown: (url) => {
      const printed = `${url}${url.startsWith('unix:') ? '' : '/'}#token=${token}`;
      token = '';
      return printed;
    },
  };
}

function parseChildNofile(text: string | undefined): number | undefined {
  if (text === undefined || (/^\d+$/.test(text) && Number(text) >= 16 && Number(text) < 2 ** 31)) {
    return text === undefined ? undefined : Number(text);
  }
  throw new UsageError(`invalid value '${text}' for --child-nofile: expected a whole number from 16`);
}

function parsePidNamespace(mode = 'isolate'): 'isolate' | 'inherit' {
  if (mode === 'isolate' || mode === 'inherit') return mode;
  throw new UsageError(
    `invalid value '${mode}' for '--linux-sandbox-pid-namespace <MODE>': expected 'isolate' or 'inherit'`,
  );
}
