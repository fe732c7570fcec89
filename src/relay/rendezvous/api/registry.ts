import { harnessFacts } from '../../../access/index.ts';
import { keyFingerprint, type PublicKeyObject, parsePublicKeyObject } from '../../index.ts';
import type { Directory, Registration } from '../cluster/directory.ts';
import { type RendezvousLimits, registryLimits } from '../limits.ts';
import { readAuthorization, signAuthorization } from '../trust/authorization.ts';
import type { Identity, TokenVerifier } from '../trust/identity.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import { signSocketUrl } from '../trust/socket-url.ts';
import type { UsedIds } from '../trust/used-ids.ts';
import type { AuditLog } from './audit-log.ts';
import { HttpRefusal } from './http-refusal.ts';
import { randomId } from './identifiers.ts';
import type { Metrics } from './metrics.ts';
import { RateLimit } from './rate-limit.ts';

export interface RegistryOptions {
  readonly directory: Directory;
  readonly usedIds: UsedIds;
  readonly keys: SigningKeys;
  readonly verifier: TokenVerifier;
  readonly limits: RendezvousLimits;
  readonly metrics: Metrics;
  readonly audit: AuditLog;
  /** Where clients reach this service. */
  readonly publicUrl: () => string;
  now(): number;
  isOnline(registration: Registration): Promise<boolean>;
}

/** A request, with the identity of its bearer token. */
export interface RegistryRequest {
  readonly environmentId: string;
  readonly identity: Identity;
  readonly body: unknown;
}

const PROFILE = 'noise_hybrid_ik_v1';

/** Registers executor keys for environments, signs socket URLs and validates harness keys. */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #registrations: RateLimit;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#registrations = new RateLimit(
      options.limits.registrationsPerMinute,
      registryLimits.rateWindowMs,
      options.now,
    );
  }

  /** Registers an executor for an environment. The newest replaces the one before. */
  async register({ environmentId, identity, body }: RegistryRequest): Promise<object> {
    const { directory, limits, keys, publicUrl, now, audit } = this.#options;
    const { security_profile: profile, executor_public_key } = membersOf(body);
    if (profile !== PROFILE)
      throw new HttpRefusal(400, 'unsupported_security_profile', `security_profile must be ${PROFILE}`);
    const executorPublicKey = parseKey('executor_public_key', executor_public_key);
    if (!this.#registrations.allows(environmentId)) {
      throw new HttpRefusal(
        429,
        'too_many_registrations',
        'this environment was registered too often',
        registryLimits.retrySeconds,
      );
    }
    const registrationId = randomId();
    const registration = (current: Registration | undefined): Registration => ({
      environmentId,
      registrationId,
      executorPublicKey,
      epoch: current?.epoch ?? 0,
      node: current?.node ?? '',
      state: 'offline',
      updated: now(),
      ownerChanges: this.#ownerChanges(current, executorPublicKey),
      registeredBy: identity.name,
    });
    await directory.update(environmentId, registration).catch((error: unknown) => {
      if (!(error instanceof HttpRefusal)) this.#registrations.takeBack(environmentId); // the service failed, not the executor
      throw error;
    });
    const executor = keyFingerprint(executorPublicKey).slice(0, 16);
    audit.record('environment.registered', { environmentId, registrationId, by: identity.name, executor });
    const grant = { role: 'environment', environmentId, registrationId, token: identity.mark } as const;
    return {
      environment_id: environmentId,
      url: signSocketUrl(publicUrl(), grant, now() + limits.environmentUrlMs, keys),
      security_profile: PROFILE,
      executor_registration_id: registrationId,
    };
  }

  /** Refuses when two executors with one id replace each other again and again. */
  #ownerChanges(current: Registration | undefined, key: PublicKeyObject): readonly number[] {
    const { limits, now } = this.#options;
    const isRecent = (time: number): boolean => Math.abs(now() - time) < registryLimits.rateWindowMs; // the clocks of nodes differ and can be set back
    const changes = (current?.ownerChanges ?? []).filter(isRecent);
    if (!current || keyFingerprint(current.executorPublicKey) === keyFingerprint(key)) return changes;
    if (changes.length < limits.ownerChangesPerMinute) return [...changes, now()];
    throw new HttpRefusal(
      409,
      'environment_in_use',
      'another executor serves this environment',
      registryLimits.retrySeconds,
    );
  }

  /** Gives a harness what one connection to an environment needs. */
  async connect({ environmentId, identity, body }: RegistryRequest): Promise<object> {
    const { directory, keys, limits, publicUrl, now, audit, isOnline } = this.#options;
    const key = keyFingerprint(parseKey('harness_public_key', membersOf(body).harness_public_key));
    if (!directory.ready) throw new HttpRefusal(503, 'unavailable', 'the directory cannot be reached', 1);
    const registration = directory.get(environmentId);
    // 409 makes a harness try again: after a restart of this service its executor may be about to register.
    if (!registration || !(await isOnline(registration))) {
      throw new HttpRefusal(409, 'environment_offline', 'the environment is not connected', 1);
    }
    const { registrationId, executorPublicKey } = registration;
    const connectionId = randomId();
    const token = identity.mark;
    const grant = { role: 'harness', environmentId, registrationId, connectionId, key, token } as const;
    const authorization = { id: randomId(), environmentId, registrationId, key, mark: token };
    audit.record('harness.admitted', { environmentId, registrationId, connectionId, by: identity.name });
    return {
      environment_id: environmentId,
      url: signSocketUrl(publicUrl(), grant, now() + limits.harnessUrlMs, keys),
      security_profile: PROFILE,
      executor_registration_id: registrationId,
      executor_public_key: executorPublicKey,
      harness_key_authorization: signAuthorization(
        { ...authorization, expiresAt: now() + limits.authorizationMs },
        keys,
      ),
    };
  }

  /** Tells an executor whether the harness key of a handshake may talk to it, and what the harness's token allows. */
  async validate({ environmentId, identity, body }: RegistryRequest): Promise<object> {
    const { metrics, audit } = this.#options;
    const harness = await this.#validated(environmentId, membersOf(body));
    const valid = harness !== undefined;
    metrics.add('rendezvous_validations_total', { valid: String(valid) });
    audit.record('harness.validated', { environmentId, by: identity.name, valid });
    if (!harness?.identity) return { valid };
    return { valid, harness: harnessFacts(harness.identity.grant) };
  }

  /** The harness that an authorization was given to, and the bearer of its token as far as it is known. */
  async #validated(
    environmentId: string,
    body: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly identity: Identity | undefined } | undefined> {
    const { directory, usedIds, keys, verifier, now } = this.#options;
    const { executor_registration_id: registrationId, harness_public_key, harness_key_authorization: token } = body;
    const key = keyFingerprint(parseKey('harness_public_key', harness_public_key));
    const authorization = typeof token === 'string' ? readAuthorization(token, keys, now()) : undefined;
    if (!authorization || authorization.key !== key || authorization.environmentId !== environmentId) return undefined;
    if (authorization.registrationId !== registrationId) return undefined;
    if (directory.get(environmentId)?.registrationId !== registrationId) return undefined;
    const { mark } = authorization;
    const identity = mark === undefined ? undefined : verifier.marked(mark);
    const isAsBefore = identity?.mark === mark && identity?.mayAct('harness', environmentId);
    if (mark !== undefined && !isAsBefore) return undefined; // revoked or changed since then, or not yet at this node
    return (await usedIds.claim(authorization.id)) ? { identity } : undefined;
  }
}

function membersOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw new HttpRefusal(400, 'invalid_request', 'the body must be a JSON object');
}

function parseKey(member: string, value: unknown): PublicKeyObject {
  try {
    return parsePublicKeyObject(value);
  } catch (error) {
    throw new HttpRefusal(400, 'invalid_key', `${member}: ${(error as Error).message}`);
  }
}
