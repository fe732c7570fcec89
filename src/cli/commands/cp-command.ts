import { resolve } from 'node:path';
import { ExecServerClient } from '../../client/index.ts';
import { describeOptions, parseOptions, type Values } from '../arguments.ts';
import { CONNECTION_FAILED, chosenConnector, remoteServerOptions, tokenOption } from '../connect-options.ts';
import type { CopySide } from '../copy/copy-side.ts';
import { LocalSide } from '../copy/local-side.ts';
import { RemoteSide } from '../copy/remote-side.ts';
import { type Place, Transfer, type TransferOutcome } from '../copy/transfer.ts';
import { print } from '../print.ts';
import { ProgressBar } from '../progress-bar.ts';
import { StopSignals } from '../stop-signals.ts';
import { UsageError } from '../usage-error.ts';

const options = {
  connect: {
    type: 'string',
    value: 'URL',
    help: 'server that env: paths are on, ws://HOST:PORT, wss://… or unix:/PATH',
  },
  ...remoteServerOptions,
  'token-file': tokenOption,
  json: { type: 'boolean', help: 'print a summary as JSON' },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

const help = (): string => `Copies a file or a directory with everything in it to or from a server.

Usage: exec-server cp [OPTIONS] SRC DST

A path that starts with env: is an absolute path on the server, any other is a path here. Into a directory that
exists, SRC is copied under its own name. Links inside SRC stay links, and permissions are kept; owners, times and
set-user-id bits are not. A file is written under a temporary name and then renamed, so that its place holds the old
content or the new. A server needs sh, find, stat, readlink, chmod, mkdir, ln and mv (GNU or BusyBox).

Options:
${describeOptions(options)}

Exit codes: 0 everything was copied, 1 something was not (each is named on stderr), 2 wrong usage,
128+n ended by signal n (nothing half-written stays), 255 the server could not be reached or was lost.
`;

const ON_SERVER = 'env:';

export async function cpCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, options);
  if (values.help) return print(help());
  const [source, destination, ...more] = positionals;
  if (source === undefined || destination === undefined || more.length > 0) {
    throw new UsageError('expected a source and a destination: SRC DST');
  }
  process.exitCode = CONNECTION_FAILED; // of a program that ends early; the code that is returned replaces it
  const onServer = [source, destination].some((path) => path.startsWith(ON_SERVER));
  const local = new LocalSide();
  if (!onServer && (values.connect ?? values.remote) !== undefined) {
    throw new UsageError('neither path is on the server: begin one of them with env:, such as env:/tmp/x');
  }
  if (!onServer) return await copy(place(source, local, local), place(destination, local, local), values);
  await using client = await connect(values);
  if (!client) return CONNECTION_FAILED;
  const remote = new RemoteSide(client);
  return await copy(place(source, local, remote), place(destination, local, remote), values);
}

async function connect(values: Values<typeof options>): Promise<ExecServerClient | undefined> {
  try {
    const connector = await chosenConnector(values);
    if (!connector) throw new UsageError('env: paths need --connect or --remote');
    return await ExecServerClient.connect(connector, { clientName: 'exec-server cp' });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    process.stderr.write(`Error: ${printable((error as Error).message)}\n`);
    return undefined;
  }
}

function place(path: string, local: CopySide, remote: CopySide): Place {
  if (path === '') throw new UsageError('a path is empty; . is the current directory');
  const asDirectory = path.endsWith('/');
  if (!path.startsWith(ON_SERVER)) return { side: local, path: resolve(path), name: path, asDirectory };
  const native = path.slice(ON_SERVER.length);
  if (!native.startsWith('/')) throw new UsageError(`${path} must be an absolute path, such as env:/tmp/x`);
  return { side: remote, path: resolve(native), name: path, asDirectory };
}

async function copy(source: Place, destination: Place, { json }: Values<typeof options>): Promise<number> {
  const startedAt = performance.now();
  using stop = new StopSignals();
  using bar = process.stderr.isTTY && !json ? new ProgressBar(process.stderr) : undefined;
  const transfer = new Transfer((progress) => bar?.show(progress), stop.signal);
  try {
    const outcome = await transfer.run(source, destination);
    bar?.[Symbol.dispose]();
    report(outcome, json === true, (performance.now() - startedAt) / 1000);
    return outcome.failures.length + outcome.skipped.length > 0 ? 1 : 0;
  } catch (error) {
    bar?.[Symbol.dispose]();
    if (stop.exitCode !== undefined) return stop.exitCode;
    process.stderr.write(`Error: ${printable((error as Error).message)}\n`);
    return CONNECTION_FAILED;
  }
}

function report({ failures, skipped, ...counts }: TransferOutcome, json: boolean, seconds: number): void {
  if (json) process.stdout.write(`${JSON.stringify({ ...counts, seconds, skipped, failures })}\n`);
  for (const { path, message } of failures) process.stderr.write(`Error: ${printable(`${path}: ${message}`)}\n`);
  for (const { path, message } of skipped) process.stderr.write(`Left out: ${printable(`${path} ${message}`)}\n`);
}

/** Escapes control and format characters: names come from another machine and must not control the terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`;
  });
}
