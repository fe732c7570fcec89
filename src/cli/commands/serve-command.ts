import { type Logger, onAbort } from '../../base/index.ts';
import { Host } from '../../host/index.ts';
import { hardenProcess, nativeStatus, runUnderInit } from '../../host/os/index.ts';
import { ownCredentialDigest, secretPaths, statePlace } from '../../host/own/index.ts';
import {
  DEFAULT_LISTEN_URL,
  defaultConfig,
  parseListenUrl,
  type ServeOptions,
  serve,
  sha256,
  type WebSocketAuth,
} from '../../server/index.ts';
import { describeOptions, parseOptions, requireNoPositionals, type Values } from '../arguments.ts';
import { type AuthValues, authOptions, readAuth } from '../auth-options.ts';
import { handleFaults } from '../faults.ts';
import { reloadOnHangup, stopBySignals } from '../hangup.ts';
import { optimizeSooner } from '../optimizer.ts';
import { checkRemoteValues, remoteOptions } from '../remote-options.ts';
import { secretFiles } from '../secret-files.ts';
import { ServiceManager } from '../service-manager.ts';
import { readSettings, type Settings, settingOptions } from '../settings.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { exitAfterGrace } from '../stop-deadline.ts';
import { readTls, tlsOptions } from '../tls-options.ts';
import { TokenSource } from '../token-source.ts';
import { readFlag, UsageError } from '../usage-error.ts';

const options = {
  listen: {
    type: 'string',
    value: 'URL',
    help: `where to listen: ws://IP:PORT or wss://IP:PORT (port 0 picks a free one), unix:/PATH, systemd:NAME (the socket of a .socket unit), fd:N (an inherited socket), or stdio [default: ${DEFAULT_LISTEN_URL}]`,
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

type ServeValues = Values<typeof options> & Readonly<Record<string, unknown>>;

/** Serves until SIGTERM or SIGINT, or on stdio until the input ends; as a remote environment with `--remote`. */
export async function serveCommand(argv: readonly string[]): Promise<number> {
  const parsed = parseOptions(argv, { ...options, ...settingOptions });
  requireNoPositionals(parsed.positionals);
  const values = parsed.values as ServeValues;
  runUnderInit();
  const manager = ServiceManager.take(process.env);
  checkRemoteValues(values);
  const loadSettings = async () => ownSocketIn(await readSettings(values, process.env, values.config), manager);
  const settings = await loadSettings();
  const listen = manager.resolve(values.listen ?? DEFAULT_LISTEN_URL, '--listen');
  const address = readFlag(() => parseListenUrl(listen));
  const { auth, shown, reread: rereadAuth } = chooseAuth(values);
  if (address.type === 'stdio') requireNoAuth(values, auth);
  prepareProcess(values);
  const sandboxPidNamespace = parsePidNamespace(values['linux-sandbox-pid-namespace']);
  const log = stderrLogger(process.env);
  const rereadTls = () => readTls(values, address, log);
  const tls = rereadTls();
  const tokens = openTokens(values, settings, log);
  const host = new Host({ environment: process.env });
  logSurroundings(log);
  const stop = new AbortController();
  using faults = handleFaults(log, stop);
  stopBySignals(stop);
  onAbort(stop.signal, () => manager.stopping(log));
  let { shutdownGracePeriodMs } = settings;
  const graceMs = (): number => shutdownGracePeriodMs ?? defaultConfig.shutdownGracePeriodMs;
  exitAfterGrace(stop.signal, { graceMs, exitCode: () => (faults.isFatal ? 1 : 0), log });
  const reloadWith = (change: (next: Partial<Settings>) => void): void =>
    reloadOnHangup(async () => {
      tokens?.reload(log); // also where the settings cannot be read: a token may have been revoked
      const next = await loadSettings();
      requireSameTokensFile(settings, next);
      change(next);
      ({ shutdownGracePeriodMs } = next);
    }, log);
  if (values.remote !== undefined) {
    const { serveRemotely } = await import('./remote-command.ts');
    const ready = (): void => manager.ready(`registered with ${values.remote}`, log);
    await serveRemotely({ host, values, settings, sandboxPidNamespace, log, ready, changes: reloadWith }, stop.signal);
  } else {
    const serving: ServeOptions = {
      host,
      address,
      auth,
      tokens: tokens?.tokens,
      tls,
      config: settings,
      sandboxPidNamespace,
      allowUnauthenticated: values['allow-unauthenticated'] === true,
      log,
      announce: (url) => {
        process.stdout.write(`${shown(url)}\n`);
        manager.ready(`listening on ${url}`, log);
      },
      loaded: optimizeSooner,
      changes: (change) => reloadWith((config) => change({ config, auth: rereadAuth(), tls: rereadTls() })),
    };
    await serve(serving, stop.signal);
  }
  return faults.isFatal ? 1 : 0;
}

/** The tokens of the file that the settings name, if clients present any. */
function openTokens(values: ServeValues, { tokensFile }: Partial<Settings>, log: Logger): TokenSource | undefined {
  if (tokensFile == null) return undefined;
  const other =
    values.remote !== undefined ? '--remote' : values.listen?.startsWith('stdio') ? '--listen stdio' : undefined;
  if (other === undefined) return new TokenSource(tokensFile);
  if (values['tokens-file'] !== undefined) {
    throw new UsageError(`--tokens-file cannot be used together with ${other}: no client presents a token here`);
  }
  log.warn('tokens.not_used', { path: tokensFile, reason: `with ${other} no client presents a token` });
  return undefined;
}

function requireSameTokensFile(
  { tokensFile: present }: Partial<Settings>,
  { tokensFile: next }: Partial<Settings>,
): void {
  if ((present ?? undefined) === (next ?? undefined)) return;
  throw new Error(
    `tokens_file was ${present ?? 'not set'} and is ${next ?? 'not set'}: start the server again for that`,
  );
}

/** The settings with the descriptor of a socket that a service manager has passed, where one is named. */
function ownSocketIn(settings: Partial<Settings>, manager: ServiceManager): Partial<Settings> {
  const { opsListen } = settings;
  return opsListen == null ? settings : { ...settings, opsListen: manager.resolve(opsListen, '--ops-listen') };
}

/** Clients on stdio are the parent process, which presents no token. */
function requireNoAuth(values: ServeValues, auth: WebSocketAuth): void {
  if (values['print-token-url']) throw new UsageError('--print-token-url cannot be used together with --listen stdio');
  if (auth.type !== 'none') throw new UsageError('WebSocket auth requires a WebSocket listener, not stdio');
}

/** Protects this process and its secrets before it serves. */
function prepareProcess(values: ServeValues): void {
  const native = nativeStatus();
  if (!native.ready) throw new Error(native.reason);
  hardenProcess(parseChildNofile(values['child-nofile']));
  secretPaths.add(...secretFiles(values, process.env));
}

function logSurroundings(log: Logger): void {
  const state = statePlace(process.env);
  if (state.reason) log.warn('state.kept_elsewhere', { ...state });
  if (process.geteuid?.() === 0) log.info('server.runs_as_root', { advice: 'run it as an ordinary user' });
}

interface ChosenAuth {
  readonly auth: WebSocketAuth;
  /** Reads the authentication options and their files again; a generated token stays. */
  readonly reread: () => WebSocketAuth;
  /** The URL as it is printed. */
  readonly shown: (url: string) => string;
}

/** A generated token is forgotten once its URL is printed; only the digest stays in memory. */
function chooseAuth(values: AuthValues & { readonly 'print-token-url'?: boolean }): ChosenAuth {
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
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number(text) >= 16 && Number(text) < 2 ** 31) return Number(text);
  throw new UsageError(`invalid value '${text}' for --child-nofile: expected a whole number from 16`);
}

function parsePidNamespace(mode = 'isolate'): 'isolate' | 'inherit' {
  if (mode === 'isolate' || mode === 'inherit') return mode;
  throw new UsageError(
    `invalid value '${mode}' for '--linux-sandbox-pid-namespace <MODE>': expected 'isolate' or 'inherit'`,
  );
}
