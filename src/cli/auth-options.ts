import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { osErrorText } from '../host/os/index.ts';
import { ownCredential, ownCredentialDigest } from '../host/own/index.ts';
import { sha256, type WebSocketAuth } from '../server/index.ts';
import type { Values } from './arguments.ts';
import { UsageError } from './usage-error.ts';

export const authOptions = {
  'ws-auth': {
    type: 'string',
    value: 'MODE',
    help: 'how WebSocket clients authenticate: capability-token or signed-bearer-token',
  },
  'ws-token-file': { type: 'string', value: 'PATH', help: 'file that holds the capability token' },
  'ws-token-sha256': { type: 'string', value: 'HEX', help: 'SHA-256 digest of the capability token' },
  'ws-shared-secret-file': {
    type: 'string',
    value: 'PATH',
    help: 'file with the secret (32 bytes or more) that signs HS256 tokens',
  },
  'ws-issuer': { type: 'string', value: 'ISSUER', help: 'issuer that signed tokens must name' },
  'ws-audience': { type: 'string', value: 'AUDIENCE', help: 'audience that signed tokens must name' },
  'ws-max-clock-skew-seconds': {
    type: 'string',
    value: 'SECONDS',
    help: 'clock difference forgiven in signed tokens [default: 30]',
  },
  'allow-unauthenticated': {
    type: 'boolean',
    help: 'listen beyond loopback without authentication; anyone who can reach the address can run commands',
  },
} as const;

export type AuthValues = Values<typeof authOptions>;

const tokenFlags = ['ws-token-file', 'ws-token-sha256'] as const;
const signedFlags = ['ws-shared-secret-file', 'ws-issuer', 'ws-audience', 'ws-max-clock-skew-seconds'] as const;

export function readAuth(values: AuthValues): WebSocketAuth {
  const given = (flags: readonly (keyof AuthValues)[]) => flags.some((flag) => values[flag] !== undefined);
  switch (values['ws-auth']) {
    case undefined:
      if (!given([...tokenFlags, ...signedFlags])) return { type: 'none' };
      throw new UsageError(
        'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`',
      );
    case 'capability-token':
      if (!given(signedFlags)) return { type: 'capability-token', sha256: tokenDigest(values) };
      throw new UsageError(
        '`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`',
      );
    case 'signed-bearer-token':
      if (!given(tokenFlags)) return signedBearer(values);
      throw new UsageError(
        '`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`',
      );
    default:
      throw new UsageError(
        `invalid value '${values['ws-auth']}' for --ws-auth: expected capability-token or signed-bearer-token`,
      );
  }
}

function tokenDigest(values: AuthValues): Buffer {
  const { 'ws-token-file': file, 'ws-token-sha256': digest } = values;
  if (file !== undefined && digest !== undefined) {
    throw new UsageError('`--ws-token-file` and `--ws-token-sha256` are mutually exclusive');
  }
  if (digest !== undefined) {
    if (!/^[0-9a-f]{64}$/i.test(digest)) {
      throw new UsageError('--ws-token-sha256 must be a 64-character hex SHA-256 digest');
    }
    const sha256OfToken = Buffer.from(digest, 'hex');
    ownCredentialDigest(sha256OfToken);
    return sha256OfToken;
  }
  if (file === undefined) {
    throw new UsageError(
      '`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set',
    );
  }
  const token = readSecret(file);
  if (token === '') throw new Error(`websocket auth secret ${resolve(file)} must not be empty`);
  return sha256(token);
}

function signedBearer(values: AuthValues): WebSocketAuth {
  const file = values['ws-shared-secret-file'];
  if (file === undefined) {
    throw new UsageError('`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set');
  }
  const skew = values['ws-max-clock-skew-seconds'] ?? '30';
  if (!/^\d+$/.test(skew))
    throw new UsageError(`invalid value '${skew}' for --ws-max-clock-skew-seconds: expected a whole number`);
  const secret = Buffer.from(readSecret(file));
  if (secret.length < 32) throw new Error(`signed websocket bearer secret ${resolve(file)} must be at least 32 bytes`);
  return {
    type: 'signed-bearer-token',
    secret,
    maxClockSkewSeconds: Number(skew),
    ...(values['ws-issuer'] !== undefined && { issuer: values['ws-issuer'] }),
    ...(values['ws-audience'] !== undefined && { audience: values['ws-audience'] }),
  };
}

function readSecret(file: string): string {
  const path = resolve(file);
  try {
    return ownCredential(readFileSync(path, 'utf8').trim());
  } catch (error) {
    const { errno = 0 } = error as NodeJS.ErrnoException;
    throw new Error(`failed to read websocket auth secret ${path}: ${osErrorText(-errno)}`);
  }
}
