import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Response } from 'undici';
import { Deadline } from '../../base/index.ts';
import { CertificateFileError, Outgoing } from '../../host/http/index.ts';
import type { Credentials } from './credentials.ts';
import { RegistryError } from './registry-error.ts';
import { RegistryHttp } from './registry-http.ts';
import { requireEncryption } from './registry-url.ts';

const ACCOUNTS_URL = 'https://auth.openai.com/api/accounts';
const TASK_TIMEOUT_MS = 30_000;

interface AgentIdentity {
  readonly runtimeId: string;
  readonly key: KeyObject;
  readonly accountId: string;
  readonly isFedramp: boolean;
}

export interface AgentIdentityOptions {
  /** Proxies and certificates for the account service; by default no proxies and the system's certificates. */
  readonly outgoing?: Outgoing;
  readonly accountsUrl?: string;
}

/**
 * Signs requests with the key inside an agent identity token, for a task that is registered with the first request. The signature of
 * the token is not checked: the token is this program's own.
 */
export function agentIdentity(
  token: string,
  { outgoing = Outgoing.direct, accountsUrl = ACCOUNTS_URL }: AgentIdentityOptions = {},
): Credentials {
  const identity = readIdentity(token);
  const http = new RegistryHttp(outgoing);
  let task: Promise<string> | undefined;
  return {
    permit: requireEncryption,
    async headers(signal) {
      task ??= registerTask(identity, http, accountsUrl, signal);
      const taskId = await task.catch((error: unknown) => {
        task = undefined; // the next request tries again
        throw error;
      });
      return assertion(identity, taskId);
    },
  };
}

function assertion({ runtimeId, key, accountId, isFedramp }: AgentIdentity, taskId: string): Record<string, string> {
  const timestamp = now();
  const signature = signText(key, `${runtimeId}:${taskId}:${timestamp}`);
  const envelope = JSON.stringify({ agent_runtime_id: runtimeId, signature, task_id: taskId, timestamp });
  return {
    authorization: `AgentAssertion ${Buffer.from(envelope).toString('base64url')}`,
    'chatgpt-account-id': accountId,
    ...(isFedramp && { 'x-openai-fedramp': 'true' }),
  };
}

async function registerTask(
  { runtimeId, key }: AgentIdentity,
  http: RegistryHttp,
  base: string,
  signal: AbortSignal,
): Promise<string> {
  const timestamp = now();
  using deadline = new Deadline(TASK_TIMEOUT_MS, signal);
  let response: Response;
  let answer: { task_id?: unknown; taskId?: unknown };
  try {
    response = await http.fetch(`${base}/v1/agent/${encodeURIComponent(runtimeId)}/task/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ timestamp, signature: signText(key, `${runtimeId}:${timestamp}`) }),
      redirect: 'manual',
      signal: deadline.signal,
    });
    answer = Object(await response.json().catch(() => undefined)) as typeof answer; // an answer that is not JSON has no members
  } catch (error) {
    if (error instanceof CertificateFileError) throw error;
    throw new RegistryError('failed to register agent task: no answer', {}, { cause: error });
  }
  if (!response.ok) {
    throw new RegistryError(`failed to register agent task (${response.status})`, { status: response.status });
  }
  const taskId = answer.task_id ?? answer.taskId;
  if (typeof taskId === 'string' && taskId !== '') return taskId;
  throw new Error('agent task registration gave no task id in clear text; encrypted ones are not supported');
}

function readIdentity(token: string): AgentIdentity {
  try {
    const [, payload = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
    const { agent_runtime_id: runtimeId, agent_private_key: key, account_id: accountId } = claims;
    if (typeof runtimeId !== 'string' || typeof key !== 'string' || typeof accountId !== 'string') throw new Error();
    return {
      runtimeId,
      key: createPrivateKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'pkcs8' }),
      accountId,
      isFedramp: claims.chatgpt_account_is_fedramp === true,
    };
  } catch {
    throw new Error('CODEX_ACCESS_TOKEN did not provide Agent Identity authentication'); // it is a secret: no details
  }
}

const signText = (key: KeyObject, text: string): string => sign(null, Buffer.from(text), key).toString('base64');

/** The time without fractions of a second, the form that the account service accepts. */
const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');
