import { ownCredential, takeCredential } from '../host/own/index.ts';
import {
  type AwsAccess,
  agentIdentity,
  apiKey,
  bearerToken,
  type Credentials,
  ExecutorCredentials,
  findAwsAccess,
  type Outgoing,
  signInState,
} from '../relay/remote/index.ts';
import { readToken } from './connect-options.ts';
import type { RemoteValues } from './remote-options.ts';

/**
 * The credentials with which an environment authenticates, from an option, a variable or the sign-in state. Secrets are removed from
 * the variables, because children inherit those.
 */
export async function chooseCredentials(
  values: RemoteValues,
  environmentId: string,
  env: NodeJS.ProcessEnv,
  outgoing: Outgoing,
): Promise<Credentials> {
  const key = takeCredential(env, 'CODEX_API_KEY');
  const token = takeCredential(env, 'CODEX_ACCESS_TOKEN');
  if (values['executor-credential-stdin']) return new ExecutorCredentials(process.stdin, environmentId);
  if (values['use-agent-identity-auth']) {
    if (!token) throw new Error('CODEX_ACCESS_TOKEN is required when --use-agent-identity-auth is set');
    return agentIdentity(token, { outgoing });
  }
  if (values['remote-token-file'] !== undefined) return bearerToken(readToken(values['remote-token-file']));
  const found = key ? apiKey(key) : await signInState(env);
  if (found) return found;
  throw new Error(
    'remote exec-server registration requires ChatGPT authentication or API key authentication; run `codex login`, set CODEX_API_KEY or use --remote-token-file',
  );
}

export async function takeAwsAccess(values: RemoteValues, env: NodeJS.ProcessEnv) {
  const access: AwsAccess = await findAwsAccess({ profile: values['aws-profile'], region: values['aws-region'] }, env);
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']) takeCredential(env, name);
  const { credentials, region } = access;
  ownCredential(credentials.secretAccessKey);
  ownCredential(credentials.sessionToken);
  return { credentials, scope: { region, service: values['aws-service'] ?? 'execute-api' } };
}
