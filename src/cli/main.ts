import { version } from '../base/index.ts';
import { serveCommand, serveOptionsHelp } from './serve-command.ts';
import { UsageError } from './usage-error.ts';

const help = (): string => `Gives a program hands on this machine: processes, terminals and files over one connection.

Usage: exec-server [OPTIONS]              serve, and print the URL
       exec-server run [OPTIONS] -- CMD   run one command on a server
       exec-server cp [OPTIONS] SRC DST   copy files to or from a server
       exec-server forward [OPTIONS]      register a running server as a remote environment
       exec-server rendezvous [OPTIONS]   let executors and their clients meet
       exec-server mcp [OPTIONS]          serve tools to a client of the Model Context Protocol
       exec-server execpolicy check ...   say what rules decide about a command
       exec-server doctor                 say what this machine can do

Options:
${serveOptionsHelp()}

Exit codes: 0 stopped as asked, 1 failed (the reason is on stderr), 2 wrong usage.
Log level: EXEC_SERVER_LOG=debug|info|warn|error [default: warn]
`;

/** Runs the command line; resolves with the exit code. */
export async function runMain(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`error: ${error.message}\n\nFor more information, try 'exec-server --help'.\n`);
      return 2;
    }
    process.stderr.write(`Error: ${(error as Error).message}\n`);
    return 1;
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  if (command === 'run') return (await import('./run-command.ts')).runCommand(rest);
  if (command === 'cp') return (await import('./cp-command.ts')).cpCommand(rest);
  if (command === 'forward') return (await import('./forward-command.ts')).forwardCommand(rest);
  if (command === 'rendezvous') return (await import('./rendezvous-command.ts')).rendezvousCommand(rest);
  if (command === 'mcp') return (await import('./mcp-command.ts')).mcpCommand(rest);
  if (command === '--codex-run-as-fs-helper') return (await import('./fs-helper-command.ts')).fsHelperCommand();
  if (command === 'execpolicy') return (await import('./execpolicy-command.ts')).execpolicyCommand(rest);
  if (command === 'doctor') return (await import('./doctor-command.ts')).doctorCommand(rest);
  if (argv.includes('--help') || argv.includes('-h')) return print(help());
  if (argv.includes('--version') || argv.includes('-V')) return print(`exec-server ${version}\n`);
  if (command !== undefined && !command.startsWith('-')) {
    throw new UsageError(
      `unknown command '${command}'; known are run, cp, forward, rendezvous, mcp, execpolicy and doctor`,
    );
  }
  return serveCommand(argv);
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

void runMain(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
