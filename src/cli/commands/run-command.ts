import { setTimeout as delay } from 'node:timers/promises';
import { type ExecBackend, type ExecProcess, localBackend, remoteBackend } from '../../agent/unified-exec/index.ts';
import { UnlessFailed } from '../../base/index.ts';
import { failureReason, type StartOptions } from '../../client/index.ts';
import { Host } from '../../host/index.ts';
import { ExecError, PathUri, type SignalName } from '../../protocol/index.ts';
import { describeOptions, parseOptions, type Values } from '../arguments.ts';
import { CONNECTION_FAILED, chosenConnector, remoteServerOptions, tokenOption } from '../connect-options.ts';
import { print } from '../print.ts';
import { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

const options = {
  connect: {
    type: 'string',
    value: 'URL',
    help: 'server to run on, ws://HOST:PORT, wss://… or unix:/PATH; without it the command runs here',
  },
  ...remoteServerOptions,
  'token-file': tokenOption,
  tty: { type: 'boolean', short: 't', help: 'run in a terminal of the size of this one' },
  cwd: {
    type: 'string',
    short: 'C',
    value: 'DIR',
    help: 'absolute directory to run in [default: where the server was started]',
  },
  env: { type: 'string', short: 'e', value: 'NAME=VALUE', multiple: true, help: 'variable to set; may be repeated' },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

const help = (): string => `Runs one command on a server. Streams, signals, terminal size and exit code pass through.

Usage: exec-server run [OPTIONS] -- CMD [ARGS…]

Options:
${describeOptions(options)}

Exit codes: that of the command (if signal n ended it 128+n, or 1 with --tty), 2 wrong usage, 141 the reader of the
output has gone (the command is ended), 255 the server could not be reached or was lost, the command could not be
started, or its output could not be written.
`;

export async function runCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseRunOptions(argv);
  if (values.help) return print(help());
  if (!positionals[0]) throw new UsageError('a command is required after --');
  if (values.cwd !== undefined && !values.cwd.startsWith('/')) {
    throw new UsageError(`invalid value '${values.cwd}' for --cwd: expected an absolute directory, such as /srv`);
  }
  process.exitCode = CONNECTION_FAILED; // of a program that ends early; the code that is returned replaces it
  try {
    await using backend = await openBackend(values);
    return await follow(await start(backend, startOptions(positionals, values)), values.tty === true);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof LostReader) return READER_GONE;
    // Exits at once: output that nothing reads would keep the program running.
    process.stderr.write(`Error: ${(error as Error).message}\n`, () => process.exit(CONNECTION_FAILED));
    return CONNECTION_FAILED;
  } finally {
    process.stdin.destroy(); // open, it would keep the program running
  }
}

/** Parses the options. Without -- before the command its own options look like options of this program. */
function parseRunOptions(argv: readonly string[]): ReturnType<typeof parseOptions<typeof options>> {
  try {
    return parseOptions(argv, options);
  } catch (error) {
    if (!(error instanceof UsageError) || argv.includes('--')) throw error;
    throw new UsageError(`${error.message}; put -- before the command`);
  }
}

/** Opens the server that the options name, or else this machine. */
async function openBackend(values: Values<typeof options>): Promise<ExecBackend> {
  const connector = await chosenConnector(values);
  const host = new Host({ environment: process.env });
  return connector ? remoteBackend(connector, { clientName: 'exec-server run' }) : localBackend({ host });
}

/** Starts the command; an error names the command and the directory. Servers without `errorDetails` are asked whether the directory exists. */
async function start(backend: ExecBackend, options: StartOptions): Promise<ExecProcess> {
  try {
    return await backend.start(options);
  } catch (error) {
    const isAboutCommand = error instanceof ExecError && (error.cause as Error | undefined)?.name !== 'RegistryError';
    if (!isAboutCommand) throw error;
    if (error.details) throw new Error(`cannot start ${options.argv[0]}: ${failureReason(error)}`);
    const where = options.cwd === undefined ? '' : ` in ${options.cwd}`;
    throw new Error(`cannot start ${options.argv[0]}${where}: ${await reasonOf(error, backend, options)}`);
  }
}

/** The kernel reports a missing directory and a missing program by the same error. */
async function reasonOf({ message }: ExecError, backend: ExecBackend, { argv, cwd }: StartOptions): Promise<string> {
  if (message !== 'No such file or directory (os error 2)') return message;
  if (typeof cwd === 'string' && !(await exists(backend, cwd))) return 'the directory does not exist';
  return argv[0]!.includes('/') ? message : 'command not found on PATH';
}

async function exists(backend: ExecBackend, path: string): Promise<boolean> {
  const files = await backend.fileSystem();
  return await files.getMetadata(PathUri.fromNative(path)).then(
    () => true,
    (error: unknown) => !(error instanceof ExecError && error.kind === 'notFound'),
  );
}

function startOptions(argv: readonly string[], { tty, cwd, env }: Values<typeof options>): StartOptions {
  const terminal = tty ? { TERM: process.env.TERM ?? 'xterm' } : {};
  return {
    argv,
    ...(cwd !== undefined && { cwd }),
    env: { ...terminal, ...variables(env) },
    envPolicy: { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] },
    io: tty ? { type: 'pty', ...Terminal.size() } : { type: 'pipe', stdin: 'open' },
  };
}

function variables(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`invalid value '${pair}' for --env: expected NAME=VALUE`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

async function follow(remote: ExecProcess, tty: boolean): Promise<number> {
  using _signals = passSignals(remote);
  using _terminal = tty ? new Terminal((rows, cols) => void remote.resize(rows, cols).catch(() => {})) : undefined; // a lost resize harms nothing
  void feedStdin(remote, tty);
  const ended = remote.wait();
  const unlessLost = new UnlessFailed(ended);
  try {
    for await (const { stream, bytes } of remote.output)
      await unlessLost.wait(write(stream === 'stderr' ? process.stderr : process.stdout, bytes));
  } catch (error) {
    if (error instanceof OutputError) await terminate(remote);
    throw error;
  }
  const { exitCode } = await ended;
  return exitCode ?? CONNECTION_FAILED;
}

/** The exit code of a program that SIGPIPE ended. */
const READER_GONE = 141;

/** The output of the command could not be written here. */
class OutputError extends Error {}

/** The reader of the output has closed its pipe. Like SIGPIPE, this ends the program without a message. */
class LostReader extends OutputError {}

/** Terminates a command whose output cannot be written any more. */
async function terminate(remote: ExecProcess): Promise<void> {
  const timeout = delay(TERMINATE_MS, undefined, { ref: false });
  await Promise.race([remote.terminate().catch(() => {}), timeout]); // a lost server ends the command itself
}

const TERMINATE_MS = 5000;

const passedSignals: Readonly<Partial<Record<NodeJS.Signals, SignalName>>> = {
  SIGINT: 'interrupt',
  SIGTERM: 'terminate',
  SIGHUP: 'hangup',
  SIGQUIT: 'quit',
  SIGUSR1: 'user1',
  SIGUSR2: 'user2',
};

function passSignals(remote: ExecProcess): Disposable {
  const listeners = Object.entries(passedSignals).map(([signal, name]) => {
    const listener = () => void remote.signal(name).catch(() => {}); // the command has ended, or the server is lost, which `wait` reports
    process.on(signal, listener);
    return { signal, listener };
  });
  return {
    [Symbol.dispose]: () => {
      for (const { signal, listener } of listeners) process.off(signal, listener);
    },
  };
}

/** Passes stdin on until it ends, or until the command reads no more of it. */
async function feedStdin(remote: ExecProcess, tty: boolean): Promise<void> {
  try {
    for await (const bytes of process.stdin as AsyncIterable<Uint8Array>) await remote.write(bytes);
    if (!tty) await remote.closeStdin();
  } catch {
    process.stdin.destroy(); // the command has ended or closed its input
  }
}

function write(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      reject(error.code === 'EPIPE' ? new LostReader() : new OutputError(`cannot write the output: ${error.message}`));
    stream.once('error', failed);
    stream.write(bytes, (error) => {
      if (error) return failed(error); // the event follows
      stream.off('error', failed);
      resolve();
    });
  });
}
