import { isOwnVariable } from '../own/index.ts';

/** Variables that hold credentials of the machine, or the paths of their files; compared without case. */
const names = new Set([
  'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
  'OPENAI_FEDERATION_RULE_ID',
  'OPENAI_IDENTITY_TOKEN_FILE',
  'OPENAI_WORKLOAD_IDENTITY_CONTEXT',
  'OPENAI_API_KEY',
  'CODEX_API_KEY',
  'CODEX_ACCESS_TOKEN',
  'CODEX_CONNECTORS_TOKEN',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AZURE_CLIENT_SECRET',
  'AZURE_FEDERATED_TOKEN_FILE',
  'GOOGLE_APPLICATION_CREDENTIALS',
]);

/** Whether `http/request` refuses to send a variable, set or not. */
export function isUnsendable(name: string, value: string | undefined): boolean {
  return names.has(name.toUpperCase()) || isOwnVariable(name, value);
}
