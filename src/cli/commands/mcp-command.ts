import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseApprovalPolicy } from '../../agent/approval/index.ts';
import { type OpenToolSet, openUnifiedExecTools, serveHttp, serveStdio } from '../../agent/mcp/index.ts';
import { RulesStore, userRulesFolder } from '../../agent/rules/index.ts';
import { localBackend, remoteBackend } from '../../agent/unified-exec/index.ts';
import { type Logger, Scope } from '../../base/index.ts';
import { Host } from '../../host/index.ts';
import { hardenProcess, nativeStatus, runUnderInit } from '../../host/os/index.ts';
import { ownCredential, secretPaths, takeCredential } from '../../host/own/index.ts';
import { describeOptions, parseOptions, requireNoPositionals, type Values } from '../arguments.ts';
import { chosenConnector, readToken, remoteServerOptions, tokenOption } from '../connect-options.ts';
import { handleFaults } from '../faults.ts';
import { parseIpPort } from '../ip-port.ts';
import { print } from '../print.ts';
import { parseSandboxMode } from '../sandbox-flag.ts';
import { secretFiles } from '../secret-files.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { stopToolServerBySignals } from '../stop-deadline.ts';
import { UsageError } from '../usage-error.ts';

const options = {
  tools: {
    type: 'string',
    value: 'SET',
    help:
      'which tools to offer: unified-exec (commands, terminals and files), or shell (one tool, with every program it starts ' +
      'checked against the rules; has options of its own, see --tools shell --help) [default: unified-exec]',
  },
  local: { type: 'boolean', help: 'work on this machine, which is the default' },
  connect: { type: 'string', value: 'URL', help: 'work on a server, ws://HOST:PORT, wss://… or unix:/PATH' },
  ...remoteServerOptions,
  'token-file': tokenOption,
  sandbox: {
    type: 'string',
    value: 'MODE',
    help: 'what commands may touch: read-only, workspace-write or danger-full-access [default: workspace-write]',
  },
  approval: {
    type: 'string',
    value: 'POLICY',
    help:
      'when the user is asked: never, on-request (when the model asks for more than the sandbox gives), untrusted ' +
      '(before every command without a rule), or granular:KIND,… [default: on-request]',
  },
  cwd: {
    type: 'string',
    short: 'C',
    value: 'DIR',
    help: 'absolute directory to work in [default: the current one, or where the server was started]',
  },
  rules: {
    type: 'string',
    value: 'FILE',
    multiple: true,
    help: 'rules file to use besides those of the user in ~/.codex/rules; may be repeated',
  },
  'longest-wait-ms': {
    type: 'string',
    value: 'N',
    help:
      'longest time until a call answers, with a session id if the command goes on; for clients with shorter or longer ' +
      'timeouts than usual, 5000 to 300000 [default: 30000]',
  },
  http: {
    type: 'string',
    value: 'IP:PORT',
    help: 'serve streamable HTTP on this loopback address instead of stdio; port 0 picks a free one',
  },
  'http-token-file': {
    type: 'string',
    value: 'PATH',
    help: 'file with the bearer token that HTTP clients present [default: one is generated and shown on stderr; env: EXEC_SERVER_MCP_TOKEN holds the token itself]',
  },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

const help = (): string => `Serves tools to a client of the Model Context Protocol.

Usage: exec-server mcp [OPTIONS]

Serves one client on stdin and stdout until the input ends, or any number with --http, where the URL is printed on
stdout. Questions to the user are asked by elicitation; a client without it gets a refusal that says so.

Options:
${describeOptions(options)}

Exit codes: 0 stopped as asked, 1 failed (the reason is on stderr), 2 wrong usage.
`;

type McpValues = Values<typeof options>;

/** Serves until the input ends or SIGTERM, SIGINT or SIGHUP arrives. */
export async function mcpCommand(argv: readonly string[]): Promise<number> {
  const shellOptions = shellToolOptions(argv);
  if (shellOptions) return await shellTool(shellOptions);
  const { values, positionals } = parseOptions(argv, options);
  if (values.help) return print(help());
  requireNoPositionals(positionals);
  if (values['http-token-file'] !== undefined && values.http === undefined) {
    throw new UsageError('--http-token-file works only together with --http');
  }
  runUnderInit();
  const http = values.http === undefined ? undefined : { ...parseAddress(values.http), ...httpToken(values) };
  const log = stderrLogger(process.env);
  const stop = new AbortController();
  using faults = handleFaults(log, stop);
  stopToolServerBySignals(stop, { exitCode: () => (faults.isFatal ? 1 : 0), log });
  await using scope = new Scope();
  const openToolSet = await chooseToolSet(values, log, scope);
  if (http) {
    const announce = (url: string) => {
      if (http.isGenerated) process.stderr.write(`bearer token for clients: ${http.token}\n`);
      process.stdout.write(`${url}\n`);
    };
    await serveHttp({ ...http, openToolSet, log, announce }, stop.signal);
  } else {
    await serveStdio({ input: process.stdin, output: process.stdout, openToolSet, log }, stop.signal);
  }
  return faults.isFatal ? 1 : 0;
}

async function shellTool(argv: readonly string[]): Promise<number> {
  const { shellToolCommand } = await import('./shell-tool-command.ts');
  try {
    return await shellToolCommand(argv);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, 'exec-server mcp --tools shell') : error;
  }
}

/** The options besides `--tools shell`; undefined without it. */
function shellToolOptions(argv: readonly string[]): string[] | undefined {
  const at = argv.findIndex(
    (word, index) => word === '--tools=shell' || (word === '--tools' && argv[index + 1] === 'shell'),
  );
  return at < 0 ? undefined : argv.toSpliced(at, argv[at] === '--tools' ? 2 : 1);
}

/** One way to open tools for each name that `--tools` knows. */
const toolSets: Readonly<Record<string, (values: McpValues, log: Logger, scope: Scope) => Promise<OpenToolSet>>> = {
  'unified-exec': unifiedExecTools,
};

function chooseToolSet(values: McpValues, log: Logger, scope: Scope): Promise<OpenToolSet> {
  const name = values.tools ?? 'unified-exec';
  const open = Object.hasOwn(toolSets, name) ? toolSets[name] : undefined;
  if (open) return open(values, log, scope);
  throw new UsageError(
    `invalid value '${name}' for --tools: expected ${[...Object.keys(toolSets), 'shell'].join(', ')}`,
  );
}

async function unifiedExecTools(values: McpValues, log: Logger, scope: Scope): Promise<OpenToolSet> {
  const sandbox = parseSandboxMode(values.sandbox ?? 'workspace-write');
  const policy = parsePolicy(values.approval ?? 'on-request');
  const longestWaitMs = parseWait(values['longest-wait-ms']);
  if (values.cwd !== undefined && !values.cwd.startsWith('/')) {
    throw new UsageError(`invalid value '${values.cwd}' for --cwd: expected an absolute directory`);
  }
  const connector = await chosenConnector(values);
  if (connector && values.local) throw new UsageError('--local cannot be used together with --connect or --remote');
  const native = nativeStatus();
  if (!connector && !native.ready) throw new Error(native.reason);
  if (native.ready) hardenProcess();
  secretPaths.add(...secretFiles(values, process.env));
  const folder = userRulesFolder(process.env);
  const rules = await RulesStore.open({
    folders: [folder],
    files: values.rules ?? [],
    addTo: join(folder, 'default.rules'),
    onProblem: ({ message }) => log.warn('rules.not_read', { message }),
  });
  const backend = scope.own(
    connector
      ? remoteBackend(connector, { clientName: 'exec-server mcp' })
      : localBackend({ host: new Host({ environment: process.env }), log }),
  );
  const environmentId = connector ? (values['environment-id'] ?? 'remote') : 'local';
  const tools = { backend, environmentId, cwd: values.cwd, sandbox, policy, rules, longestWaitMs, log };
  return (ask) => openUnifiedExecTools(tools, ask);
}

function parseWait(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Number(text);
  if (Number.isInteger(ms) && ms >= 5000 && ms <= 300_000) return ms;
  throw new UsageError(`invalid value '${text}' for --longest-wait-ms: expected 5000 to 300000`);
}

function parsePolicy(text: string): ReturnType<typeof parseApprovalPolicy> {
  try {
    return parseApprovalPolicy(text);
  } catch (error) {
    throw new UsageError(`invalid value '${text}' for --approval: ${(error as Error).message}`);
  }
}

function parseAddress(text: string): { host: string; port: number } {
  const address = parseIpPort(text);
  if (!address) throw new UsageError(`invalid value '${text}' for --http: expected IP:PORT, such as 127.0.0.1:0`);
  const { host } = address;
  if (host !== '::1' && !host.startsWith('127.')) {
    throw new UsageError(`--http serves this machine alone: ${host} is not a loopback address, use 127.0.0.1`);
  }
  return address;
}

/** Takes the token out of the environment. To be called before the first client, whose commands would inherit it. */
function httpToken(values: McpValues): { token: string; isGenerated: boolean } {
  const fromVariable = takeCredential(process.env, 'EXEC_SERVER_MCP_TOKEN');
  const file = values['http-token-file'];
  const given = file === undefined ? fromVariable : readToken(file);
  if (given === '') throw new UsageError('the token for HTTP clients is empty');
  return { token: given ?? ownCredential(randomBytes(32).toString('base64url')), isGenerated: given === undefined };
}
