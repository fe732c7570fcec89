import type { Outgoing } from '../../host/http/index.ts';
import { type HarnessFacts, type PublicKeyObject, parsePublicKeyObject } from '../index.ts';
import type { Credentials } from './credentials.ts';
import { RegistryError } from './registry-error.ts';
import { RegistryHttp } from './registry-http.ts';
import { postJson, postSecret, type RegistryAnswer } from './registry-request.ts';

/** The answer to the registration of an environment. */
export interface RegisteredEnvironment {
  /** The URL of its websocket. */
  readonly url: string;
  readonly registrationId: string;
}

/** All that a harness needs for one connection. */
export interface ConnectionBundle extends RegisteredEnvironment {
  readonly executorKey: PublicKeyObject;
  /** Sent to the environment, which asks the registry to validate it. */
  readonly authorization: string;
}

/** The identity that a harness claims towards an environment. */
export interface HarnessProof {
  readonly registrationId: string;
  readonly harnessKey: PublicKeyObject;
  readonly authorization: string;
  readonly streamId: string;
}

const SECURITY_PROFILE = 'noise_hybrid_ik_v1';
const AUTHORIZATION_BYTES = 4096;

/** Calls a registry about one environment. */
export class RegistryClient {
  readonly #base: string;
  readonly #environmentId: string;
  readonly #credentials: Credentials;
  readonly #http: RegistryHttp;

  constructor(registry: URL, environmentId: string, credentials: Credentials, outgoing: Outgoing) {
    credentials.permit(registry);
    this.#base = `${registry.href.replace(/\/+$/, '')}/cloud/environment/${environmentId}`;
    this.#environmentId = environmentId;
    this.#credentials = credentials;
    this.#http = new RegistryHttp(outgoing);
  }

  async register(executorKey: PublicKeyObject, signal: AbortSignal): Promise<RegisteredEnvironment> {
    const body = { security_profile: SECURITY_PROFILE, executor_public_key: executorKey };
    const headers = await this.#headers(signal);
    const request = { url: `${this.#base}/register`, headers, body: JSON.stringify(body) };
    return this.#registration(await postJson(this.#http, request, signal));
  }

  /** Registers for the plain relay, without a key; the URL is valid for one connection. */
  async registerPlainly(signal: AbortSignal): Promise<string> {
    const request = { url: `${this.#base}/register`, headers: await this.#headers(signal), body: '' };
    const { environment_id: id, url } = await postJson(this.#http, request, signal);
    if (id !== this.#environmentId) throw mismatch('a different environment id');
    return requireWebSocketUrl(url);
  }

  async connect(harnessKey: PublicKeyObject, signal: AbortSignal, timeoutMs?: number): Promise<ConnectionBundle> {
    const body = JSON.stringify({ harness_public_key: harnessKey });
    const request = { url: `${this.#base}/connect`, headers: await this.#headers(signal), body };
    const answer = await postJson(this.#http, request, signal, timeoutMs);
    const registration = this.#registration(answer);
    const { executor_public_key: key, harness_key_authorization: authorization } = answer;
    if (!isText(authorization) || Buffer.byteLength(authorization) > AUTHORIZATION_BYTES) {
      throw invalidAnswer('it lacks the harness key authorization');
    }
    return { ...registration, executorKey: readKey(key), authorization };
  }

  /** What the registry tells of a harness that it vouches for; false for any other. */
  async validate(proof: HarnessProof, signal: AbortSignal): Promise<HarnessFacts | false> {
    const body = {
      executor_registration_id: proof.registrationId,
      harness_public_key: proof.harnessKey,
      harness_key_authorization: proof.authorization,
    };
    const headers = { 'x-codex-noise-stream-id': proof.streamId, ...(await this.#headers(signal)) };
    const request = { url: `${this.#base}/validate`, headers, body: JSON.stringify(body) };
    const { valid, harness } = await postSecret(this.#http, request, signal);
    return valid === true && (Object(harness ?? {}) as HarnessFacts);
  }

  async #headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    return { 'content-type': 'application/json', ...(await this.#credentials.headers(signal)) };
  }

  #registration(answer: RegistryAnswer): RegisteredEnvironment {
    const { environment_id: id, security_profile: profile, url, executor_registration_id: registrationId } = answer;
    if (id !== this.#environmentId) throw mismatch('a different environment id');
    if (profile !== SECURITY_PROFILE) throw mismatch('an unsupported security profile');
    if (!isText(registrationId)) throw invalidAnswer('it lacks the registration id');
    return { url: requireWebSocketUrl(url), registrationId };
  }
}

function requireWebSocketUrl(url: unknown): string {
  if (isText(url) && URL.canParse(url) && /^wss?:$/.test(new URL(url).protocol)) return url;
  throw invalidAnswer('it lacks a websocket URL');
}

function readKey(key: unknown): PublicKeyObject {
  try {
    return parsePublicKeyObject(key);
  } catch (error) {
    throw invalidAnswer(`the executor key is invalid: ${(error as Error).message}`);
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

function invalidAnswer(why: string): RegistryError {
  return new RegistryError(`environment registry sent an invalid answer: ${why}`);
}

/** The answer is for another request; asking again will not change that. */
function mismatch(what: string): RegistryError {
  return new RegistryError(`environment registry returned ${what}`, { status: 200 });
}
