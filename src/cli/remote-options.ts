import type { OptionTable, Values } from './arguments.ts';
import { UsageError } from './usage-error.ts';

/** Options with which an environment reaches its registry, shared by serving and `forward`. */
export const remoteOptions = {
  remote: {
    type: 'string',
    value: 'URL',
    help: 'instead of listening, register as a remote environment with the registry at this base URL',
  },
  'environment-id': { type: 'string', value: 'ID', help: 'id of the environment to register as' },
  name: { type: 'string', value: 'NAME', help: 'name of the environment, for the log [default: codex-exec-server]' },
  'remote-transport': {
    type: 'string',
    value: 'TRANSPORT',
    help: 'noise (encrypted end to end through a rendezvous), direct (a websocket of its own), or plain (older and without protection from the rendezvous) [default: noise]',
  },
  'remote-token-file': {
    type: 'string',
    value: 'PATH',
    help: 'file with a token issued by the registry [without it: env CODEX_API_KEY, then the sign-in state in CODEX_HOME]',
  },
  'executor-credential-stdin': {
    type: 'boolean',
    help: 'read rotating tokens from stdin, one JSON frame a line; its end stops the server',
  },
  'use-agent-identity-auth': { type: 'boolean', help: 'prove an agent identity [env: CODEX_ACCESS_TOKEN]' },
  'register-timeout': {
    type: 'string',
    value: 'SECONDS',
    help: 'give up when the first registration takes longer [default: try for ever]',
  },
  'aws-sigv4': { type: 'boolean', help: 'sign the requests of the direct transport with AWS Signature Version 4' },
  'aws-profile': { type: 'string', value: 'PROFILE', help: 'AWS profile to take credentials and region from' },
  'aws-region': { type: 'string', value: 'REGION', help: 'AWS region to sign for' },
  'aws-service': { type: 'string', value: 'SERVICE', help: 'AWS service to sign for [default: execute-api]' },
  'exit-on-stdin-close': {
    type: 'boolean',
    help: 'stop when stdin ends [env: CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE]',
  },
} as const satisfies OptionTable;

export type RemoteValues = Values<typeof remoteOptions>;

/** Refuses options that contradict each other, before any more code is loaded. */
export function checkRemoteValues(
  values: RemoteValues & { readonly listen?: string; readonly 'print-token-url'?: boolean },
): void {
  const given = (Object.keys(remoteOptions) as (keyof RemoteValues)[]).filter((name) => values[name] !== undefined);
  if (values.remote === undefined) {
    if (given.length > 0) throw new UsageError(`--${given[0]} works only together with --remote`);
    return;
  }
  if (values.listen !== undefined) throw new UsageError('--remote cannot be used together with --listen');
  if (values['print-token-url']) throw new UsageError('--print-token-url cannot be used together with --remote');
  if (values['environment-id'] === undefined) throw new UsageError('--remote requires --environment-id');
  const transport = values['remote-transport'] ?? 'noise';
  if (!['noise', 'direct', 'plain'].includes(transport)) {
    throw new UsageError(`invalid value '${transport}' for --remote-transport: expected noise, direct or plain`);
  }
  if (transport === 'direct' && !values['aws-sigv4']) {
    throw new UsageError('--remote-transport direct requires --aws-sigv4');
  }
  if (transport !== 'direct' && values['aws-sigv4']) {
    throw new UsageError('--aws-sigv4 requires --remote-transport direct');
  }
  const timeout = values['register-timeout'] ?? '1';
  if (!/^[1-9]\d{0,8}$/.test(timeout)) {
    throw new UsageError(`invalid value '${timeout}' for --register-timeout: expected a whole number of seconds`);
  }
  if (values['executor-credential-stdin'] && values['use-agent-identity-auth']) {
    throw new UsageError('--executor-credential-stdin cannot be used together with --use-agent-identity-auth');
  }
}
