import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LONGEST_TIMER_MS } from '../base/index.ts';
import { defaultConfig, type ExecServerConfig } from '../server/index.ts';
import type { OptionTable } from './arguments.ts';
import { UsageError } from './usage-error.ts';

type Setting = keyof ExecServerConfig;

const descriptions: Readonly<Record<Setting, string>> = {
  shutdownGracePeriodMs: 'how long the server may take to stop; its processes have most of it to end by themselves',
  maxProcessesPerConnection: 'processes one client may have running',
  retainedOutputBytesPerProcess: 'output kept per process for late readers; four times as much with --remote',
  allowDirectExec: 'accept process/start in its flat form',
  allowPreparedExec: 'accept process/start with a prepared spawn request',
  maxConnections: 'connections served at a time',
  detachedSessionTtlMs: 'how long a session waits to be resumed; 0 ends its processes with its connection',
  concurrentRequests: 'requests of one connection worked on at a time; 1 answers strictly in order',
  proxyPrivateIpsViaUpstream:
    'let commands with a managed network that may use the upstream proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY of this server) ' +
    'reach private addresses through it, where their policy permits these; without a proxy for the protocol they connect ' +
    'directly, and loopback is always reached directly',
  noFastPath:
    "leave reading and writing WebSocket frames to the ws package, which takes longer but touches none of Node's private parts; " +
    'for connections that clients open from then on',
};

/** Settings whose flag takes no value, with the names of their variables. The first is a variable of the reference. */
const switches: Partial<Readonly<Record<Setting, string>>> = {
  proxyPrivateIpsViaUpstream: 'CODEX_EXEC_SERVER_PROXY_PRIVATE_IPS_VIA_UPSTREAM',
  noFastPath: 'EXEC_SERVER_NO_FAST_PATH',
};

const names = Object.keys(descriptions) as Setting[];

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const snake = (name: string): string => kebab(name).replaceAll('-', '_');
const environmentName = (name: Setting): string => switches[name] ?? `EXEC_SERVER_${snake(name).toUpperCase()}`;

/** Every setting as a flag. */
export const settingOptions: OptionTable = Object.fromEntries(
  names.map((name) => [
    kebab(name),
    {
      ...(switches[name]
        ? { type: 'boolean' as const }
        : { type: 'string' as const, value: typeof defaultConfig[name] === 'boolean' ? 'true|false' : 'N' }),
      help: `${descriptions[name]} [default: ${defaultConfig[name]}; env: ${environmentName(name)}; file: ${snake(name)}]`,
    },
  ]),
);

/** Reads settings from flags, environment and file, where they have one name in three spellings. Flags win over the environment, the environment over the file. */
export async function readSettings(
  flags: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
  file: string | undefined,
): Promise<Partial<ExecServerConfig>> {
  const { values: fromFile, placeOf } = await readFile(file ?? (env.EXEC_SERVER_CONFIG || undefined), env);
  const settings: Record<string, number | boolean> = {};
  for (const name of names) {
    const given =
      givenAs(flags[kebab(name)], `--${kebab(name)}`) ??
      givenAs(env[environmentName(name)], environmentName(name)) ??
      givenAs(fromFile[snake(name)], `${snake(name)} in ${placeOf(snake(name))}`);
    if (given) settings[name] = parse(name, given);
  }
  return settings;
}

interface GivenValue {
  readonly value: unknown;
  readonly where: string;
}

function givenAs(value: unknown, where: string): GivenValue | undefined {
  return value === undefined ? undefined : { value, where };
}

function parse(name: Setting, { value, where }: GivenValue): number | boolean {
  const text = String(value);
  if (typeof defaultConfig[name] === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true';
    throw new UsageError(`invalid value '${text}' for ${where}: expected true or false`);
  }
  const least = mayBeZero.has(name) ? 0 : 1;
  if (/^\d+$/.test(text) && Number(text) >= least && Number(text) <= LONGEST_TIMER_MS) return Number(text);
  throw new UsageError(
    `invalid value '${text}' for ${where}: expected a whole number from ${least} to ${LONGEST_TIMER_MS}`,
  );
}

const mayBeZero: ReadonlySet<Setting> = new Set(['shutdownGracePeriodMs', 'detachedSessionTtlMs']);

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
