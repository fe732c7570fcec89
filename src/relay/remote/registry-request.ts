import type { Response } from 'undici';
import { Deadline } from '../../base/index.ts';
import { CertificateFileError } from '../../host/http/index.ts';
import { RegistryError, registryErrorFor, retryAfterMs, shownUrl } from './registry-error.ts';
import type { RegistryHttp } from './registry-http.ts';

/** The body of an answer; nothing in it has been checked. */
export type RegistryAnswer = Readonly<Record<string, unknown>>;

const REQUEST_TIMEOUT_MS = 10_000;
/** A registration with a key is about 2 kB. */
const LARGEST_BODY_BYTES = 64 * 1024;

export interface JsonRequest {
  readonly url: URL | string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Posts a JSON text and gives the JSON object that answers it; throws a `RegistryError` for anything else. */
export async function postJson(
  http: RegistryHttp,
  request: JsonRequest,
  signal: AbortSignal,
  timeoutMs = REQUEST_TIMEOUT_MS,
): Promise<RegistryAnswer> {
  using deadline = new Deadline(timeoutMs, signal);
  const { url } = request;
  const response = await send(http, request, deadline.signal);
  const text = await readText(url, response);
  if (!response.ok)
    throw registryErrorFor(url, response.status, text, retryAfterMs(response.headers.get('retry-after')));
  return parseObject(url, text);
}

/** `postJson` for requests whose answers could repeat a secret: only the status of an error answer is read. */
export async function postSecret(
  http: RegistryHttp,
  request: JsonRequest,
  signal: AbortSignal,
): Promise<RegistryAnswer> {
  using deadline = new Deadline(REQUEST_TIMEOUT_MS, signal);
  const { url } = request;
  const response = await send(http, request, deadline.signal);
  if (response.ok) return parseObject(url, await readText(url, response));
  await response.body?.cancel();
  throw registryErrorFor(url, response.status, '', undefined);
}

async function send(http: RegistryHttp, { url, headers, body }: JsonRequest, signal: AbortSignal): Promise<Response> {
  try {
    // Redirects are not followed: the token must reach only the URL that the operator gave.
    return await http.fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
  } catch (error) {
    throw error instanceof CertificateFileError ? error : unreachable(url, error); // a certificate file error is not transient
  }
}

async function readText(url: URL | string, response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > LARGEST_BODY_BYTES) break; // leaving the loop cancels the rest
      text += decoder.decode(chunk, { stream: true });
    }
  } catch (error) {
    throw unreachable(url, error);
  }
  return text;
}

function parseObject(url: URL | string, text: string): RegistryAnswer {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RegistryAnswer;
  } catch {
    // reported below without the parser's message, which quotes the text
  }
  throw new RegistryError(`environment registry sent an invalid answer: it is not a JSON object (${shownUrl(url)})`);
}

function unreachable(url: URL | string, error: unknown): RegistryError {
  const { cause, message } = error as Error;
  const why = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : message;
  return new RegistryError(`environment registry request failed: ${why} at ${shownUrl(url)}`, {}, { cause: error });
}
