import { version } from '../base/index.ts';
import { serveCommand, serveOptionsHelp } from './commands/serve-command.ts';
import { print } from './print.ts';
import { reportError, UsageError } from './usage-error.ts';

const help =
  (): string => `Lets a client run processes and terminals and use files on this machine, over one connection.

Usage: exec-server [OPTIONS]              serve, and print the URL
       exec-server run [OPTIONS] -- CMD   run one command on a server
       exec-server cp [OPTIONS] SRC DST   copy files to or from a server
       exec-server forward [OPTIONS]      register a running server as a remote environment
       exec-server rendezvous [OPTIONS]   run the registry and rendezvous of remote mode
       exec-server mcp [OPTIONS]          serve tools to a client of the Model Context Protocol
       exec-server token add|list|revoke  make, show and take back the tokens of clients
       exec-server execpolicy check ...   show what rules decide about a command
       exec-server doctor                 check what this machine can do

Options:
${serveOptionsHelp()}

SIGHUP reads the token files and the settings again and reopens the audit log (without a terminal); SIGTERM and SIGINT stop.
Exit codes: 0 stopped as asked, 1 failed (the reason is on stderr), 2 wrong usage.
Log level: EXEC_SERVER_LOG=debug|info|warn|error [default: warn]
Certificates to trust beside the system's: CODEX_CA_CERTIFICATE=FILE, else SSL_CERT_FILE=FILE (PEM)
`;

/** Runs the command line; resolves with the exit code. */
async function runMain(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    const [command = ''] = argv;
    return reportError(error, commands.has(command) ? `exec-server ${command}` : 'exec-server');
  }
}

/** The commands besides serving, each loaded when it is called. */
const commands = new Map<string, (argv: string[]) => Promise<number>>([
  ['run', async (argv) => (await import('./commands/run-command.ts')).runCommand(argv)],
  ['cp', async (argv) => (await import('./commands/cp-command.ts')).cpCommand(argv)],
  ['forward', async (argv) => (await import('./commands/forward-command.ts')).forwardCommand(argv)],
  ['rendezvous', async (argv) => (await import('./commands/rendezvous-command.ts')).rendezvousCommand(argv)],
  ['mcp', async (argv) => (await import('./commands/mcp-command.ts')).mcpCommand(argv)],
  ['token', async (argv) => (await import('./commands/token-command.ts')).tokenCommand(argv)],
  ['execpolicy', async (argv) => (await import('./commands/execpolicy-command.ts')).execpolicyCommand(argv)],
  ['doctor', async (argv) => (await import('./commands/doctor-command.ts')).doctorCommand(argv)],
]);

async function dispatch(argv: readonly string[]): Promise<number> {
  const [command = '', ...rest] = argv;
  const run = commands.get(command);
  if (run) return run(rest);
  if (command === '--codex-run-as-fs-helper')
    return (await import('./commands/fs-helper-command.ts')).fsHelperCommand();
  if (argv.includes('--help') || argv.includes('-h')) return print(help());
  if (argv.includes('--version') || argv.includes('-V')) return print(`exec-server ${version}\n`);
  if (command !== '' && !command.startsWith('-')) {
    throw new UsageError(`unknown command '${command}'; commands are ${[...commands.keys()].join(', ')}`);
  }
  return serveCommand(argv);
}

void runMain(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
