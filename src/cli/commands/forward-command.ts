import { Host } from '../../host/index.ts';
import { hardenProcess, nativeStatus, runUnderInit } from '../../host/os/index.ts';
import { describeOptions, parseOptions, requireNoPositionals } from '../arguments.ts';
import { serverAt, tokenOption } from '../connect-options.ts';
import { handleFaults } from '../faults.ts';
import { print } from '../print.ts';
import { checkRemoteValues, remoteOptions } from '../remote-options.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { UsageError } from '../usage-error.ts';

const options = {
  connect: {
    type: 'string',
    value: 'URL',
    help: 'server to pass everything on to, ws://HOST:PORT, wss://… or unix:/PATH',
  },
  'token-file': {
    ...tokenOption,
    help: 'file with the bearer token to present to the server [env: EXEC_SERVER_TOKEN holds the token itself]',
  },
  ...remoteOptions,
  remote: { ...remoteOptions.remote, help: 'base URL of the registry to register with' },
  'executor-credential-stdin': {
    ...remoteOptions['executor-credential-stdin'],
    help: 'read rotating tokens from stdin, one JSON frame a line; its end stops forwarding',
  },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

const help = (): string => `Registers a server that is running already as a remote environment.

Usage: exec-server forward --connect URL --remote URL --environment-id ID [OPTIONS]

Every harness gets a connection of its own to the server, which also keeps the sessions.

Options:
${describeOptions(options)}

Exit codes: 0 stopped as asked, 1 failed (the reason is on stderr), 2 wrong usage.
Log level: EXEC_SERVER_LOG=debug|info|warn|error [default: warn]
`;

/** Forwards until SIGTERM or SIGINT. */
export async function forwardCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, options);
  if (values.help) return print(help());
  requireNoPositionals(positionals);
  for (const name of ['remote', 'environment-id', 'connect'] as const) {
    if (values[name] === undefined) throw new UsageError(`--${name} is required`);
  }
  runUnderInit();
  checkRemoteValues(values);
  const destination = serverAt(values.connect!, values['token-file']);
  if (values['remote-transport'] === 'direct') {
    throw new UsageError('direct exec-server transport does not support forwarding');
  }
  if (nativeStatus().ready) hardenProcess();
  const stop = new AbortController();
  const log = stderrLogger(process.env);
  using faults = handleFaults(log, stop);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  const { serveRemotely } = await import('./remote-command.ts');
  const host = new Host({ environment: process.env });
  await serveRemotely({ host, values, settings: {}, destination, log }, stop.signal);
  return faults.isFatal ? 1 : 0;
}
