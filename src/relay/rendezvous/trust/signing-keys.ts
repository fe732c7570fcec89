import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { shortHash } from '../api/identifiers.ts';

/** The parts of a signed statement. The purpose comes first, so that a signature for one purpose is invalid for another. */
export type SignedStatement = readonly [purpose: string, ...parts: string[]];

/** Secrets that sign URLs, authorizations, directory entries and messages between nodes: the newest signs, the one before it still verifies. */
export class SigningKeys {
  #secrets: ReadonlyMap<string, string>;
  #current: string;

  constructor(secrets: readonly string[]) {
    ({ secrets: this.#secrets, current: this.#current } = lastTwo(secrets));
  }

  static random(): SigningKeys {
    return new SigningKeys([randomBytes(32).toString('hex')]);
  }

  replace(secrets: readonly string[]): void {
    ({ secrets: this.#secrets, current: this.#current } = lastTwo(secrets));
  }

  /** Identifies the secret that signs now. */
  get kid(): string {
    return this.#current;
  }

  sign(statement: SignedStatement): string {
    return this.#signature(this.#secrets.get(this.#current)!, [...statement, this.#current]);
  }

  verify(statement: SignedStatement, kid: string, signature: string): boolean {
    const secret = this.#secrets.get(kid);
    if (secret === undefined) return false;
    return this.equal(Buffer.from(this.#signature(secret, [...statement, kid])), Buffer.from(signature));
  }

  /** Authenticates bytes with the secret of this `kid`, if there is one. The purpose separates them from signed statements. */
  mac(purpose: string, kid: string, ...parts: readonly (string | Uint8Array)[]): Buffer | undefined {
    const secret = this.#secrets.get(kid);
    if (secret === undefined) return undefined;
    const hash = createHmac('sha256', secret).update(`${purpose}\0`);
    for (const part of parts) hash.update(part);
    return hash.digest();
  }

  /** Compares in constant time. */
  equal(one: Uint8Array, other: Uint8Array): boolean {
    return one.length === other.length && timingSafeEqual(one, other);
  }

  #signature(secret: string, parts: readonly string[]): string {
    return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url');
  }
}

function lastTwo(secrets: readonly string[]): { secrets: ReadonlyMap<string, string>; current: string } {
  const kept = secrets.slice(-2).map((secret) => [shortHash(secret), secret] as const);
  const current = kept.at(-1);
  if (!current) throw new Error('a secret is needed to sign with');
  return { secrets: new Map(kept), current: current[0] };
}

/** One secret per line, the newest last; empty lines and lines that begin with `#` are skipped. */
export function parseSecrets(text: string): string[] {
  const secrets = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (secrets.length === 0) throw new Error('it holds no secret');
  if (secrets.some((secret) => secret.length < 32)) throw new Error('a secret has less than 32 characters');
  return secrets;
}
