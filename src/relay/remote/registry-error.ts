import { STATUS_CODES } from 'node:http';

export interface RegistryErrorFacts {
  /** The status of the answer; undefined without a valid answer. */
  readonly status?: number;
  /** The error code in the answer. */
  readonly code?: string;
  /** The value of `Retry-After`. */
  readonly retryAfterMs?: number;
}

/** A registry that refused a request, or could not be asked. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, facts: RegistryErrorFacts = {}, options?: ErrorOptions) {
    super(message, options);
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterMs = facts.retryAfterMs;
  }

  /** Whether the same request may well succeed later: the registry is unreachable, busy or broken. */
  get isTransient(): boolean {
    const { status } = this;
    return status === undefined || status === 408 || status === 429 || status >= 500;
  }
}

/** The error for an answer with an error status. Only a part of the body is shown, which may be long. */
export function registryErrorFor(
  url: URL | string,
  status: number,
  body: string,
  retryAfterMs: number | undefined,
): RegistryError {
  const { code, message } = errorIn(body);
  const what = status === 401 || status === 403 ? 'authentication failed' : 'request failed';
  const text = message ?? body.slice(0, SHOWN_CHARACTERS);
  const line = `environment registry ${what} (${status} ${STATUS_CODES[status] ?? 'unknown'}) at ${shownUrl(url)}`;
  return new RegistryError(`${line}${code === undefined ? '' : `, ${code}`}${text === '' ? '' : `: ${text}`}`, {
    status,
    ...(code !== undefined && { code }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

const SHOWN_CHARACTERS = 4096;

/** The URL of the request without user, password and query, which may be secrets. */
export function shownUrl(url: URL | string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function errorIn(body: string): { code?: string; message?: string } {
  try {
    const { error } = Object(JSON.parse(body)) as { error?: { code?: unknown; message?: unknown } };
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    return {
      ...(typeof code === 'string' && { code: code.slice(0, 128) }),
      ...(typeof message === 'string' && { message: message.slice(0, SHOWN_CHARACTERS) }),
    };
  } catch {
    return {}; // not JSON, such as the error page of a proxy
  }
}

/** `Retry-After` in either of its forms. */
export function retryAfterMs(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,6}$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
