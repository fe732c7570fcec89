import { join } from 'node:path';
import type { AccessToken, TokenEntry, TokenRight } from '../../access/index.ts';
import { showTokenFile, tokenDigest, updateTokenFile } from '../../access/index.ts';
import { describeOptions, type OptionTable, parseOptions, requireNoPositionals, type Values } from '../arguments.ts';
import { newToken, tokenOptions } from '../new-token.ts';
import { print } from '../print.ts';
import { readSettings } from '../settings.ts';
import { describeToken, tokenTable } from '../token-list.ts';
import { UsageError } from '../usage-error.ts';

const common = {
  'tokens-file': {
    type: 'string',
    value: 'FILE',
    help: 'the file of tokens, which servers and rendezvous are started with [env: EXEC_SERVER_TOKENS_FILE; file: tokens_file]',
  },
  config: {
    type: 'string',
    value: 'FILE',
    help: `settings file that may name it [default: ${join('~', '.config', 'exec-server', 'exec-server.toml')}; env: EXEC_SERVER_CONFIG]`,
  },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const satisfies OptionTable;

const addOptions = { ...tokenOptions, ...common } as const;
const listOptions = { json: { type: 'boolean', help: 'print JSON instead of a table' }, ...common } as const;

const EXIT_CODES = `Exit codes: 0 done, 1 not done (the reason is on stderr), 2 wrong usage.
`;

const HANGUP =
  'Servers read the file again on SIGHUP: kill -HUP PID, or systemctl reload. One in a terminal stops then: start it again.';

const help = (): string => `Makes and takes back the tokens that clients present.

Usage: exec-server token add [OPTIONS] --name NAME --scopes SCOPES   make a token, and print it once
       exec-server token list [OPTIONS]                              show the tokens, without their secrets
       exec-server token revoke [OPTIONS] NAME...                    take tokens back

The file holds digests (mode 0600); a token that was printed cannot be printed again. ${HANGUP}
A connection whose token was revoked is closed then, and the sessions of that token end.

Options of all of them:
${describeOptions(common)}

${EXIT_CODES}`;

const addHelp = (): string => `Makes a token and prints it on stdout, once. The file keeps its digest.

Usage: exec-server token add [OPTIONS] --name NAME --scopes SCOPES

Options:
${describeOptions(addOptions)}

Scopes: run starts and steers processes, view looks at them, files calls the file system, forward opens connections to
ports, approve answers questions, admin reaches the work of others; executor and harness are the two sides of a
rendezvous and need --environments. None includes another: a harness may do in its environments what its token names beside
harness, and no more.

Examples:
  exec-server token add --name ci --scopes run,view,files --expires 30d
  exec-server token add --name box --scopes executor --environments box
  exec-server token add --name agent --scopes harness,run,view,files --environments 'ci-*'

${HANGUP}
${EXIT_CODES}`;

const listHelp =
  (): string => `Shows the tokens of a file: what each may do and until when. Their secrets are not in it.

Usage: exec-server token list [OPTIONS]

Options:
${describeOptions(listOptions)}

${EXIT_CODES}`;

const revokeHelp =
  (): string => `Takes tokens back. Servers close their connections, and end their sessions, when they read the file again.

Usage: exec-server token revoke [OPTIONS] NAME...

Options:
${describeOptions(common)}

${HANGUP}
${EXIT_CODES}`;

/** Runs \`exec-server token …\`. */
export async function tokenCommand(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  if (command === '--help' || command === '-h' || command === 'help') return print(help());
  if (command === 'add') return await add(rest);
  if (command === 'list') return await list(rest);
  if (command === 'revoke') return await revoke(rest);
  const commands = 'commands are add, list and revoke';
  throw new UsageError(
    command === undefined ? `a command is required; ${commands}` : `unknown command '${command}'; ${commands}`,
  );
}

async function add(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, addOptions);
  if (values.help) return print(addHelp());
  requireNoPositionals(positionals);
  const wanted = newToken(values, Date.now());
  const path = await tokensFile(values);
  const secret = process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
  const entry = { ...wanted, sha256: tokenDigest(secret) };
  updateTokenFile(path, ({ entries, tokens }) => {
    const present = tokens.findIndex(({ name }) => name === entry.name);
    if (present >= 0 && !values.replace) {
      throw new Error(
        `${path} has a token named ${entry.name}: revoke it first, or use --replace to give it another secret`,
      );
    }
    return present < 0 ? [...entries, entry] : entries.with(present, entry);
  });
  if (isIdleHarness(wanted)) process.stderr.write(`${IDLE_HARNESS}\n`);
  process.stderr.write(
    `token ${describeToken(wanted)} is in ${path}. Store what follows; it is shown once. ${HANGUP}\n`,
  );
  return print(`${secret}\n`);
}

/** Whether it is that of a harness which may connect to environments and do nothing there. */
const isIdleHarness = ({ scopes }: Pick<TokenEntry, 'scopes'>): boolean =>
  scopes.includes('harness') && !scopes.some((scope) => DEEDS.includes(scope));

const DEEDS: readonly TokenRight[] = ['run', 'view', 'files', 'forward', 'approve'];

const IDLE_HARNESS = `warning: a harness with this token may connect to its environments, but do nothing there; name what it may do as well, such as
--scopes harness,run,view,files (of ${DEEDS.join(', ')})`;

async function list(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, listOptions);
  if (values.help) return print(listHelp());
  requireNoPositionals(positionals);
  const now = Date.now();
  const tokens = showTokenFile(await tokensFile(values));
  return print(
    values.json
      ? `${JSON.stringify({ tokens: tokens.map((token) => shown(token, now)) }, null, 2)}\n`
      : tokenTable(tokens, now),
  );
}

async function revoke(argv: readonly string[]): Promise<number> {
  const { values, positionals: names } = parseOptions(argv, common);
  if (values.help) return print(revokeHelp());
  if (names.length === 0) throw new UsageError('the NAME of a token is required');
  const path = await tokensFile(values);
  updateTokenFile(path, ({ entries, tokens }) => {
    const unknown = names.find((name) => !tokens.some((token) => token.name === name));
    if (unknown !== undefined) throw new Error(`${path} has no token named ${unknown}; ${knownNames(tokens)}`);
    return entries.filter((_, index) => !names.includes(tokens[index]!.name));
  });
  process.stderr.write(`revoked ${names.join(', ')}. ${HANGUP}\n`);
  return 0;
}

function knownNames(tokens: readonly AccessToken[]): string {
  return tokens.length === 0 ? 'it has none' : `its tokens are ${tokens.map(({ name }) => name).join(', ')}`;
}

function shown({ name, rights, environments, limits, expiresAtMs }: AccessToken, now: number): object {
  const expires = expiresAtMs === undefined ? null : new Date(expiresAtMs).toISOString();
  const expired = expiresAtMs !== undefined && now >= expiresAtMs;
  return { name, scopes: rights, environments, limits, expires, expired };
}

async function tokensFile(values: Values<typeof common>): Promise<string> {
  const { tokensFile: path } = await readSettings(
    values['tokens-file'] === undefined ? {} : { 'tokens-file': values['tokens-file'] },
    process.env,
    values.config,
  );
  if (path != null) return path;
  throw new UsageError('--tokens-file FILE is required, or tokens_file in the settings file');
}
