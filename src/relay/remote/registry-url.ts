import { isIP } from 'node:net';
import { isLoopback } from '../../server/index.ts';

/** Parses the base URL of a registry, without blanks around it and slashes at its end. */
export function parseRegistryUrl(text: string): URL {
  const trimmed = text.trim().replace(/\/+$/, '');
  if (trimmed === '') throw new Error('environment registry base URL is required');
  if (!URL.canParse(trimmed)) throw new Error(`invalid environment registry base URL \`${trimmed}\``);
  const url = new URL(trimmed);
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw new Error(`invalid environment registry base URL \`${trimmed}\`; expected http:// or https://`);
}

/** Ids are put into URLs as they are, so only characters that need no encoding are allowed. */
export function parseEnvironmentId(text: string): string {
  const id = text.trim();
  if (id === '') throw new Error('environment id is required for remote exec-server registration');
  if (/^[A-Za-z0-9_-]{1,64}$/.test(id)) return id;
  throw new Error(`invalid environment id '${id}': expected 1 to 64 letters, digits, hyphens or underscores`);
}

/** Throws for a URL that would send a bearer token off this machine in clear text. */
export function requireEncryption(url: URL): void {
  if (url.protocol === 'https:' || isOnThisMachine(url)) return;
  throw new Error('remote transport requires https for non-loopback endpoints');
}

/** Throws for a URL that must not get an API key: it gives access to more than this registry, so only its issuer and this machine may. */
export function requireIssuer(url: URL): void {
  if (isOnThisMachine(url)) return;
  if (url.protocol === 'https:' && /(^|\.)openai\.(com|org)$/.test(url.hostname)) return;
  throw new Error(
    'remote exec-server API-key authentication is restricted to HTTPS openai.com and openai.org hosts and subdomains or loopback hosts; give another registry a token of its own with --remote-token-file',
  );
}

export function isOnThisMachine({ hostname }: URL): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return hostname === 'localhost' || (isIP(address) !== 0 && isLoopback(address));
}
