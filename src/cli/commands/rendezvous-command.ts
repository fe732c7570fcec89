import { readFileSync, statSync } from 'node:fs';
import { AccessTokens, parseTokens } from '../../access/index.ts';
import { aborted, type Logger } from '../../base/index.ts';
import { hardenProcess, nativeStatus, runUnderInit } from '../../host/os/index.ts';
import {
  AuditLog,
  anyOf,
  type ClusterOptions,
  FileTokens,
  freshTokens,
  parseSecrets,
  RendezvousService,
  SigningKeys,
  type TokenVerifier,
} from '../../relay/rendezvous/index.ts';
import { isLoopback } from '../../server/index.ts';
import { describeOptions, parseOptions, requireNoPositionals, type Values } from '../arguments.ts';
import { handleFaults } from '../faults.ts';
import { onHangup } from '../hangup.ts';
import { parseIpPort } from '../ip-port.ts';
import { optimizeSooner } from '../optimizer.ts';
import { print } from '../print.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { UsageError } from '../usage-error.ts';

const options = {
  listen: {
    type: 'string',
    value: 'URL',
    help: 'where to listen: http://IP:PORT (port 0 picks a free one) [default: http://127.0.0.1:0]',
  },
  'public-url': {
    type: 'string',
    value: 'URL',
    help: 'URL at which clients reach this service, such as https://relay.example/api [default: the URL it listens on]',
  },
  'tokens-file': {
    type: 'string',
    value: 'FILE',
    help: 'tokens and their rights, written by `exec-server token` (docs/tokens.md); without it a token for each scope is generated and shown once on stderr',
  },
  'jwt-keys-file': {
    type: 'string',
    value: 'FILE',
    help: 'a JSON Web Key Set; tokens signed by its keys are accepted, with claims exp, scope and environments',
  },
  'jwt-issuer': { type: 'string', value: 'ISSUER', help: 'issuer that signed tokens must name' },
  'jwt-audience': { type: 'string', value: 'AUDIENCE', help: 'audience that signed tokens must name' },
  'secret-file': {
    type: 'string',
    value: 'FILE',
    help: 'secrets that sign URLs, one per line of 32 characters or more, the newest last; the last two are accepted. Without it a secret is generated that lasts as long as the process',
  },
  nats: {
    type: 'string',
    value: 'URL[,URL]',
    help: 'run as one of several nodes that are connected by these NATS servers; needs --node, --secret-file, and --tokens-file or --jwt-keys-file',
  },
  node: { type: 'string', value: 'NAME', help: 'name of this node, different from those of all other nodes' },
  'nats-user': { type: 'string', value: 'NAME', help: 'user of the NATS servers, if they ask for one' },
  'nats-password-file': {
    type: 'string',
    value: 'FILE',
    help: 'file with the password of --nats-user, or with a token if there is no user [env: EXEC_SERVER_NATS_PASSWORD holds it itself]',
  },
  'nats-creds-file': { type: 'string', value: 'FILE', help: 'NATS credentials, if the servers ask for them' },
  'audit-log': { type: 'string', value: 'FILE', help: 'file to append an audit log to, one JSON object per line' },
  'allow-insecure': {
    type: 'boolean',
    help: 'listen beyond loopback although there is no https --public-url, or no tokens were given',
  },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

type Options = Values<typeof options>;

const help =
  (): string => `Runs the registry and the rendezvous of remote mode, which connect harnesses with environments.

Usage: exec-server rendezvous [OPTIONS]

Prints one line on stdout, its URL. See docs/remote.md for tokens, TLS, several nodes and the requests of operators.

Options:
${describeOptions(options)}

SIGHUP reads the tokens and the secrets again and reopens the audit log (without a terminal); SIGTERM and SIGINT stop.
Exit codes: 0 stopped as asked, 1 failed (the reason is on stderr), 2 wrong usage.
Log level: EXEC_SERVER_LOG=debug|info|warn|error [default: warn]
`;

/** Serves until SIGTERM or SIGINT. */
export async function rendezvousCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, options);
  requireNoPositionals(positionals);
  if (values.help) return print(help());
  runUnderInit();
  const address = parseListen(values.listen ?? 'http://127.0.0.1:0');
  const publicUrl = parsePublicUrl(values['public-url']);
  const cluster = clusterOf(values);
  requireSafe(values, address.host, publicUrl);
  if (publicUrl === undefined && /^(?:0\.0\.0\.0|::)$/.test(address.host)) {
    throw new UsageError(`--listen on ${address.host} needs --public-url: clients are told where to connect`);
  }
  const log = stderrLogger(process.env);
  const stop = new AbortController();
  using faults = handleFaults(log, stop);
  if (nativeStatus().ready) hardenProcess(); // this process holds the keys that sign the URLs of every environment
  const secrets = readSecrets(values, log);
  const tokens = readTokens(values, log);
  await using audit = new AuditLog(log, values['audit-log']);
  // Before the node waits for NATS: without a handler SIGHUP would end it.
  onHangup(() => {
    secrets.reload();
    tokens?.reload();
    audit.reopen();
  });
  await using service = await RendezvousService.start({
    ...address,
    verifier: await verifierOf(values, tokens),
    keys: secrets.keys,
    audit,
    log,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(cluster && { cluster }),
  });
  optimizeSooner();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  process.stderr.write(tokens?.announcement ?? '');
  process.stdout.write(`${service.url}\n`);
  await aborted(stop.signal);
  return faults.isFatal ? 1 : 0;
}

function parseListen(text: string): { host: string; port: number } {
  const [, authority = ''] = /^http:\/\/([^/]*)\/?$/.exec(text) ?? [];
  const address = parseIpPort(authority);
  if (address) return address;
  throw new UsageError(`invalid value '${text}' for --listen: expected http://IP:PORT`);
}

function parsePublicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || !/^https?:\/\/[^?#]+$/.test(text)) {
    throw new UsageError(`invalid value '${text}' for --public-url: expected http(s)://HOST[/PATH]`);
  }
  return text.replace(/\/+$/, '');
}

function clusterOf(values: Options): ClusterOptions | undefined {
  const { nats, node, 'nats-user': user, 'nats-creds-file': credentials } = values;
  if (nats === undefined) {
    const dependent = (['node', 'nats-user', 'nats-password-file', 'nats-creds-file'] as const).find(
      (name) => name in values,
    );
    if (dependent !== undefined) throw new UsageError(`--${dependent} needs --nats`);
    return undefined;
  }
  const servers = nats.split(',').map((server) => server.trim());
  const wrong = servers.find((server) => !URL.canParse(server) || !/^(?:nats|tls):\/\//.test(server));
  if (wrong !== undefined) throw new UsageError('invalid value for --nats: expected nats://HOST:PORT[,…]'); // may hold a password
  if (servers.some((server) => new URL(server).username !== '' || new URL(server).password !== '')) {
    throw new UsageError(
      '--nats must not hold a password or token, which every user of this machine could read: use --nats-user with --nats-password-file or EXEC_SERVER_NATS_PASSWORD, or --nats-creds-file',
    );
  }
  if (node === undefined || !/^[A-Za-z0-9_-]{1,64}$/.test(node)) {
    throw new UsageError('--nats needs --node with a name of 1 to 64 characters of A-Z a-z 0-9 _ -');
  }
  if (values['secret-file'] === undefined) throw new UsageError('--nats needs --secret-file, the same for all nodes');
  if (!hasTokens(values)) throw new UsageError('--nats needs --tokens-file or --jwt-keys-file, the same for all nodes');
  const password = natsPassword(values);
  if (user !== undefined && password === undefined) {
    throw new UsageError('--nats-user needs --nats-password-file or EXEC_SERVER_NATS_PASSWORD');
  }
  return {
    servers,
    node,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(credentials !== undefined && { credentials: fromFile(credentials, Buffer.from) }),
  };
}

function natsPassword(values: Options): string | undefined {
  const path = values['nats-password-file'];
  if (path !== undefined) return fromFile(path, (text) => text.trim());
  return process.env.EXEC_SERVER_NATS_PASSWORD || undefined;
}

const hasTokens = (values: Options): boolean =>
  values['tokens-file'] !== undefined || values['jwt-keys-file'] !== undefined;

function requireSafe(values: Options, host: string, publicUrl: string | undefined): void {
  if (isLoopback(host) || values['allow-insecure']) return;
  const missing = [
    ...(publicUrl?.startsWith('https:') ? [] : ['an https --public-url, with TLS in front of this service']),
    ...(hasTokens(values) ? [] : ['--tokens-file or --jwt-keys-file']),
  ];
  if (missing.length === 0) return;
  throw new Error(
    `refusing to listen on ${host} without ${missing.join(' and ')}; use --allow-insecure if the network is trusted`,
  );
}

interface Reloadable {
  reload(): void;
}

function readSecrets(values: Options, log: Logger): Reloadable & { keys: SigningKeys } {
  const path = values['secret-file'];
  if (path === undefined) return { keys: SigningKeys.random(), reload() {} };
  const keys = new SigningKeys(fromFile(path, parseSecrets));
  warnIfReadable(path, log);
  return { keys, reload: () => tryAgain(log, path, () => keys.replace(fromFile(path, parseSecrets))) };
}

function warnIfReadable(path: string, log: Logger): void {
  if (statSync(path).mode & 0o077) log.warn('secrets.readable_by_others', { path, advice: 'chmod 600 it' });
}

interface Tokens extends Reloadable {
  readonly verifier: TokenVerifier;
  /** Shown to the operator who started the service. */
  readonly announcement: string;
}

function readTokens(values: Options, log: Logger): Tokens | undefined {
  const path = values['tokens-file'];
  if (path !== undefined) {
    const tokens = new AccessTokens(fromFile(path, parseTokens));
    warnIfReadable(path, log);
    const reload = (): void => tryAgain(log, path, () => tokens.replace(fromFile(path, parseTokens)));
    return { verifier: new FileTokens(tokens), reload, announcement: '' };
  }
  if (hasTokens(values)) return undefined;
  const { shown, verifier } = freshTokens();
  const lines = Object.entries(shown).map(([scope, token]) => `${scope} token: ${token}\n`);
  return { verifier, reload() {}, announcement: lines.join('') };
}

async function verifierOf(
  values: Options,
  tokens: { readonly verifier: TokenVerifier } | undefined,
): Promise<TokenVerifier> {
  const path = values['jwt-keys-file'];
  const { 'jwt-issuer': issuer, 'jwt-audience': audience } = values;
  if (path === undefined) {
    if (issuer !== undefined || audience !== undefined) {
      throw new UsageError('--jwt-issuer and --jwt-audience need --jwt-keys-file');
    }
    return tokens!.verifier;
  }
  // Loaded only by services with signed tokens.
  const { JwtVerifier } = await import('../../relay/rendezvous/trust/jwt-verifier.ts');
  const jwt = fromFile(
    path,
    (text) =>
      new JwtVerifier({
        keys: JSON.parse(text),
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      }),
  );
  return tokens ? anyOf([tokens.verifier, jwt]) : jwt;
}

/** Reads and parses a file; an error names the file. */
function fromFile<T>(path: string, parse: (text: string) => T): T {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`cannot use ${path}: ${(error as Error).message}`);
  }
}

/** Reads a file again; an error is logged and changes nothing. */
function tryAgain(log: Logger, path: string, read: () => void): void {
  try {
    read();
    log.info('settings.reloaded', { path });
  } catch (error) {
    log.error('settings.not_reloaded', { error: (error as Error).message });
  }
}
