import { createRequire } from 'node:module';
import type { SecureContext } from 'node:tls';
import type { Agent, RequestInit, Response } from 'undici';
import { checkCertificateFile, trustedRoots } from '../os/index.ts';

const load = createRequire(import.meta.url);

/** A request to a registry or for a token, which trusts the roots of this machine. Throws a `CertificateFileError` as it is. */
export async function registryFetch(url: URL | string, init: RequestInit): Promise<Response> {
  checkCertificateFile();
  const { fetch } = load('undici') as typeof import('undici');
  return await fetch(url, new URL(url).protocol === 'https:' ? { ...init, dispatcher: agentOf(trustedRoots()) } : init);
}

let current: { readonly roots: SecureContext; readonly agent: Agent } | undefined;

function agentOf(roots: SecureContext): Agent {
  if (current?.roots === roots) return current.agent;
  void current?.agent.close();
  const { Agent } = load('undici') as typeof import('undici');
  current = { roots, agent: new Agent({ connect: { secureContext: roots } }) };
  return current.agent;
}
