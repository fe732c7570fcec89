/**
 * Credentials that this program itself uses: tokens it presents, tokens it accepts, keys it signs with. They are registered
 * where they are read, so that no command inherits one and no `http/request` sends one. One registry for the whole process.
 */
const values = new Set<string>();
const digests = new Set<string>();
/** Of the tokens that clients present, which can be many and change together. */
const clientTokens = new Set<string>();
const variables = new Set<string>();

/** The oldest are dropped above this number, as some credentials are renewed again and again. */
const MOST_CREDENTIALS = 256;

const OWN_NAMES = /^(CODEX_API_KEY|CODEX_EXEC_SERVER_.*|EXEC_SERVER_.*(TOKEN|PASSWORD|SECRET))$/is;

/** Registers a credential and returns it. */
export function ownCredential<T extends string | undefined>(value: T): T {
  if (value) addBounded(values, value);
  return value;
}

/** Registers a credential of which only the SHA-256 digest is known. */
export function ownCredentialDigest(sha256: Uint8Array): void {
  addBounded(digests, Buffer.from(sha256).toString('hex'));
}

/** Registers the digests, in hex, of all tokens that clients may present now. */
export function ownClientTokens(sha256: readonly string[]): void {
  clientTokens.clear();
  for (const digest of sha256) clientTokens.add(digest);
}

/** Removes a credential from the environment, registers it together with its variable, and returns it. */
export function takeCredential(env: NodeJS.ProcessEnv, variable: string): string | undefined {
  const value = env[variable];
  delete env[variable];
  variables.add(variable.toUpperCase());
  return ownCredential(value);
}

/** Whether a variable of this program is a credential of its own, by its name or by its value. */
export function isOwnVariable(name: string, value: string | undefined): boolean {
  return OWN_NAMES.test(name) || variables.has(name.toUpperCase()) || (value !== undefined && isOwnCredential(value));
}

export function isOwnCredential(value: string): boolean {
  if (value === '' || values.has(value)) return value !== '';
  if (digests.size + clientTokens.size === 0) return false;
  const digest = sha256Hex(value);
  return digests.has(digest) || clientTokens.has(digest);
}

function addBounded(set: Set<string>, value: string): void {
  set.delete(value);
  set.add(value);
  if (set.size > MOST_CREDENTIALS) set.delete(set.values().next().value!);
}

/** Loads `node:crypto` when there is a digest to compare with, as it would take a tenth of the time to start. */
const sha256Hex = (text: string): string =>
  process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
