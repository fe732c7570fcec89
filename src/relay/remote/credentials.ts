import { requireEncryption, requireIssuer } from './registry-url.ts';

/** Proof of identity for a registry. */
export interface Credentials {
  /** Throws if the credentials must not be sent to this registry. */
  permit(registry: URL): void;
  /** Headers for one request; asked for every request, because tokens change. */
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
}

/** A token that was issued for one registry. */
export function bearerToken(token: string, chatgptAccountId?: string): Credentials {
  const headers = bearer(token, chatgptAccountId);
  return { permit: requireEncryption, headers: async () => headers };
}

export function apiKey(key: string): Credentials {
  const headers = bearer(key);
  return { permit: requireIssuer, headers: async () => headers };
}

export function bearer(token: string, chatgptAccountId?: string): Readonly<Record<string, string>> {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error('the token for the environment registry is empty or has characters that no token has');
  return {
    authorization: `Bearer ${token}`,
    ...(chatgptAccountId !== undefined && { 'chatgpt-account-id': chatgptAccountId }),
  };
}
