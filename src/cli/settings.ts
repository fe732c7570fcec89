import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isForwardEntry } from '../host/ports/index.ts';
import { defaultConfig, type ExecServerConfig, parseOpsUrl } from '../server/index.ts';
import type { OptionHelp, OptionTable } from './arguments.ts';
import { choice, count, list, oneOf, onOff, type SettingKind, text } from './setting-kinds.ts';
import { UsageError } from './usage-error.ts';

/** What an operator can set: the configuration of the server, and where the program finds more of it. */
export interface Settings extends ExecServerConfig {
  readonly tokensFile: string | null;
}

const defaultSettings: Settings = { ...defaultConfig, tokensFile: null };

type Name = keyof Settings;

interface Setting<T> {
  readonly kind: SettingKind<T>;
  readonly help: string;
  /** Its variable, where that is not the name of the setting: one of the reference. */
  readonly variable?: string;
}

/** Every setting. Flag, variable and line of the file have its name in three spellings. */
const settings: { readonly [N in Name]: Setting<NonNullable<Settings[N]>> } = {
  shutdownGracePeriodMs: {
    kind: count(0),
    help: 'how long the server may take to stop; its processes have most of it to end by themselves',
  },
  maxProcessesPerConnection: { kind: count(1), help: 'processes one client may have running' },
  retainedOutputBytesPerProcess: {
    kind: count(1),
    help: 'output kept per process for late readers; four times as much with --remote',
  },
  allowDirectExec: { kind: choice, help: 'accept process/start in its flat form' },
  allowPreparedExec: { kind: choice, help: 'accept process/start with a prepared spawn request' },
  allowUsers: {
    kind: list('USER', 'names of users, or UID:GID'),
    help: 'user that process/start may ask to run as, by name or as UID:GID; only where the server runs as root',
  },
  maxConnections: { kind: count(1), help: 'connections served at a time' },
  detachedSessionTtlMs: {
    kind: count(0),
    help: 'how long a session waits to be resumed; 0 ends its processes with its connection',
  },
  concurrentRequests: {
    kind: count(1),
    help: 'requests of one connection worked on at a time; 1 answers strictly in order',
  },
  proxyPrivateIpsViaUpstream: {
    kind: onOff,
    variable: 'CODEX_EXEC_SERVER_PROXY_PRIVATE_IPS_VIA_UPSTREAM',
    help:
      'let commands with a managed network that may use the upstream proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY of this server) ' +
      'reach private addresses through it, where their policy permits these; without a proxy for the protocol they connect ' +
      'directly, and loopback is always reached directly',
  },
  unixPeerUid: {
    kind: count(0),
    help: 'number of a user besides that of the server whose programs are served on a unix: address without a token',
  },
  allowForward: {
    kind: list('TARGET', 'HOST:PORT, [ADDRESS]:PORT or unix:/PATH', isForwardEntry),
    help: 'what clients may open connections to besides ports on loopback: HOST:PORT, [ADDRESS]:PORT or unix:/PATH; may be repeated',
  },
  noFastPath: {
    kind: onOff,
    help:
      "leave reading and writing WebSocket frames to the ws package, which takes longer but touches none of Node's private parts; " +
      'for connections that clients open from then on',
  },
  opsListen: {
    kind: text('URL', 'http://IP:PORT, unix:/PATH, systemd:NAME or fd:N', isOpsUrl),
    help:
      'where to answer /healthz and /metrics (Prometheus): http://IP:PORT, unix:/PATH, systemd:NAME or fd:N; beyond loopback the metrics need a ' +
      'bearer token with the scope view',
  },
  auditLog: {
    kind: text('FILE', 'a file'),
    help:
      'record logins, every process with all its arguments and directory, ports and approvals in FILE, a JSON object per line; ' +
      'created with mode 0600, opened again on SIGHUP',
  },
  auditOnFull: {
    kind: oneOf('stop', 'drop'),
    help: 'while the audit log cannot be written: start nothing (stop), or drop records and count them (drop)',
  },
  tokensFile: {
    kind: text('FILE', 'a file'),
    help:
      'tokens that WebSocket clients present, with what each may do; written by `exec-server token`, read again on SIGHUP, ' +
      'mode 0600 (docs/tokens.md)',
  },
};

function isOpsUrl(text: string): boolean {
  if (text.startsWith('systemd:')) return true;
  try {
    return parseOpsUrl(text) !== undefined;
  } catch {
    return false; // the reader of settings says what is expected
  }
}

const names = Object.keys(settings) as Name[];

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const snake = (name: string): string => kebab(name).replaceAll('-', '_');
const variableOf = (name: Name): string => settings[name].variable ?? `EXEC_SERVER_${snake(name).toUpperCase()}`;

/** Every setting as a flag. */
export const settingOptions: OptionTable = Object.fromEntries(names.map((name) => [kebab(name), optionOf(name)]));

function optionOf(name: Name): OptionHelp {
  const { kind, help } = settings[name];
  const usual = String(defaultSettings[name] ?? '') || 'none';
  const places = `[default: ${usual}; env: ${variableOf(name)}; file: ${snake(name)}]`;
  return {
    type: kind.valueName === undefined ? 'boolean' : 'string',
    ...(kind.valueName !== undefined && { value: kind.valueName }),
    ...(kind.isList && { multiple: true }),
    help: `${help} ${places}`,
  };
}

/** Reads settings from flags, environment and file. Flags win over the environment, the environment over the file. */
export async function readSettings(
  flags: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
  file: string | undefined,
): Promise<Partial<Settings>> {
  const { values: fromFile, placeOf } = await readFile(file ?? (env.EXEC_SERVER_CONFIG || undefined), env);
  const given = (name: Name): Given | undefined =>
    givenAs(flags[kebab(name)], `--${kebab(name)}`) ??
    givenAs(env[variableOf(name)], variableOf(name)) ??
    givenAs(fromFile[snake(name)], `${snake(name)} in ${placeOf(snake(name))}`);
  const read = names.flatMap((name) => {
    const value = given(name);
    return value ? [[name, readValue(settings[name].kind, value)]] : [];
  });
  return Object.fromEntries(read) as Partial<Settings>;
}

interface Given {
  readonly value: unknown;
  readonly where: string;
}

function givenAs(value: unknown, where: string): Given | undefined {
  return value === undefined ? undefined : { value, where };
}

function readValue({ read, expected }: SettingKind<unknown>, { value, where }: Given): unknown {
  const setting = read(value);
  if (setting === undefined)
    throw new UsageError(`invalid value '${String(value)}' for ${where}: expected ${expected}`);
  return setting;
}

interface SettingsFile {
  readonly values: Readonly<Record<string, unknown>>;
  /** The file of a setting, with the line if the setting is found in the text. */
  placeOf(key: string): string;
}

async function readFile(given: string | undefined, env: NodeJS.ProcessEnv): Promise<SettingsFile> {
  const usual = join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'exec-server', 'exec-server.toml');
  const path = given ?? usual;
  if (given === undefined && !existsSync(path)) return { values: {}, placeOf: () => path };
  const { parse, TomlError } = await import('smol-toml');
  let text = '';
  let values: Record<string, unknown>;
  try {
    text = readFileSync(path, 'utf8');
    values = parse(text);
  } catch (error) {
    const where = error instanceof TomlError ? `${path}:${error.line}:${error.column}` : path;
    throw new UsageError(`cannot read settings from ${where}: ${(error as Error).message.split('\n')[0]}`);
  }
  const placeOf = (key: string): string => {
    const line = text.split('\n').findIndex((candidate) => candidate.split('=')[0]!.trim() === key) + 1;
    return line === 0 ? path : `${path}:${line}`;
  };
  const unknown = Object.keys(values).find((key) => !names.some((name) => snake(name) === key));
  if (unknown === undefined) return { values, placeOf };
  throw new UsageError(
    `unknown setting ${unknown} in ${placeOf(unknown)}; settings are ${names.map(snake).join(', ')}`,
  );
}
