import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Changes, deferred } from '../../base/index.ts';
import { ownCredential } from '../../host/own/index.ts';
import { bearer, type Credentials } from './credentials.ts';
import { requireEncryption } from './registry-url.ts';

interface Credential {
  readonly token: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

/** Tokens that a parent process writes to an input, one frame a line; the newest one counts. */
export class ExecutorCredentials implements Credentials, Disposable {
  readonly permit = requireEncryption;
  readonly #environmentId: string;
  readonly #ended = deferred();
  readonly #changes = new Changes();
  readonly #input: Readable;
  #current: Credential | undefined;

  constructor(input: Readable, environmentId: string) {
    this.#input = input;
    this.#environmentId = environmentId;
    this.#ended.promise.catch(() => {}); // callers of `ended` get the rejection
    void this.#read();
  }

  /** Resolves when the parent has closed the input, and rejects when it wrote an invalid credential. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Waits for the first credential. */
  async headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    while (!this.#current) {
      signal.throwIfAborted();
      await this.#changes.next({ signal });
    }
    const { token, expiresAt } = this.#current;
    if (isPast(expiresAt)) throw new Error('executor credential is expired');
    return bearer(token);
  }

  [Symbol.dispose](): void {
    this.#input.destroy();
  }

  async #read(): Promise<void> {
    try {
      for await (const line of createInterface({ input: bounded(this.#input) })) {
        if (line.trim() === '') continue;
        this.#current = parseCredential(line, this.#environmentId);
        this.#changes.notify();
      }
      if (!this.#current) throw new Error('exec-server executor credential pipe closed');
      this.#ended.resolve();
    } catch (error) {
      this.#ended.reject(error);
    }
  }
}

const isPast = (seconds: number): boolean => seconds * 1000 <= Date.now();

const members = ['environment_id', 'expires_at', 'token', 'version'].join();

function parseCredential(line: string, environmentId: string): Credential {
  const frame = parseFrame(line);
  if (frame.environment_id !== environmentId) throw new Error('executor credential is for a different environment');
  if (isPast(frame.expires_at)) throw new Error('executor credential is expired');
  return { token: ownCredential(frame.token), expiresAt: frame.expires_at };
}

interface CredentialFrame {
  readonly environment_id: string;
  readonly token: string;
  readonly expires_at: number;
}

/** A frame has four members and no others. The text is never shown: it holds a secret. */
function parseFrame(line: string): CredentialFrame {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error('invalid executor credential frame');
  }
  const frame = Object(value) as CredentialFrame & { version: unknown };
  const wellFormed =
    Object.keys(frame).sort().join() === members &&
    frame.version === 1 &&
    typeof frame.environment_id === 'string' &&
    typeof frame.token === 'string' &&
    /^[\x21-\x7e]+$/.test(frame.token) &&
    Number.isSafeInteger(frame.expires_at);
  if (!wellFormed) throw new Error('invalid executor credential frame');
  return frame;
}

const LONGEST_LINE_BYTES = 64 * 1024;

/** Passes an input on as long as its lines end. */
function bounded(input: Readable): Readable {
  let sinceNewline = 0;
  input.on('data', (chunk: Buffer) => {
    const newline = chunk.lastIndexOf(0x0a);
    sinceNewline = newline < 0 ? sinceNewline + chunk.length : chunk.length - newline;
    if (sinceNewline > LONGEST_LINE_BYTES) input.destroy(new Error('invalid executor credential frame'));
  });
  return input;
}
