import { existsSync, readFileSync, statSync } from 'node:fs';
import type { SecureContext } from 'node:tls';
import { osErrorText } from '../os/index.ts';
import type { Environment } from './environment.ts';

/** Each names a PEM file with certificates to trust besides the system's; the first that is not empty counts. */
const VARIABLES = ['CODEX_CA_CERTIFICATE', 'SSL_CERT_FILE'] as const;

/** Thrown for a certificate file that a variable names and that cannot be used. */
export class CertificateFileError extends Error {
  override readonly name = 'CertificateFileError';

  constructor(variable: string, path: string, reason: string) {
    super(
      `cannot use the certificate file ${path}, which ${variable} names: ${reason}; ` +
        `set ${variable} to a PEM file with at least one certificate, or unset it to trust the system's roots alone`,
    );
  }
}

/** The root certificates of the system, where distributions install them. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** The root certificates of outgoing TLS connections: those of Node, of the system, and of a file that a variable names. */
export class TrustedRoots {
  readonly #env: Environment;
  #made: { readonly key: string; readonly context: SecureContext } | undefined;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** Throws a `CertificateFileError` where a variable names a file that cannot be used. */
  check(): void {
    extraRoots(this.#env);
  }

  /** Made when it is first read, and again when the file has changed. Throws as `check` does. */
  get context(): SecureContext {
    const extra = extraRoots(this.#env);
    const key = extra.join('\n');
    if (this.#made?.key !== key) this.#made = { key, context: contextOf([...ordinaryRoots(this.#env), ...extra]) };
    return this.#made.context;
  }
}

function contextOf(roots: readonly string[]): SecureContext {
  const { createSecureContext, rootCertificates } = process.getBuiltinModule('node:tls');
  const all = [...rootCertificates, ...roots];
  const distinct = new Map(all.map((certificate) => [certificate.replace(/\s/g, ''), certificate]));
  return createSecureContext({ ca: [...distinct.values()] });
}

/** The roots of the system and of Node's own variable. A file that cannot be read is ignored. */
function ordinaryRoots({ NODE_EXTRA_CA_CERTS: more }: Environment): string[] {
  const system = SYSTEM_FILES.find((path) => existsSync(path));
  return [system, more].flatMap((path) => {
    if (!path) return [];
    try {
      return blocksOf(readFileSync(path, 'latin1'));
    } catch {
      return []; // Node ignores such a file as well
    }
  });
}

function extraRoots(env: Environment): readonly string[] {
  const variable = VARIABLES.find((name) => env[name]);
  if (variable === undefined) return [];
  const path = env[variable]!;
  const refuse = (reason: string) => new CertificateFileError(variable, path, reason);
  const blocks = blocksOf(readCertificates(path, refuse));
  if (blocks.length === 0) throw refuse('it contains no certificate');
  const { X509Certificate } = process.getBuiltinModule('node:crypto');
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block).toString();
    } catch {
      throw refuse(`certificate ${at + 1} in it is damaged`);
    }
  });
}

/** Larger than any bundle of certificates. */
const LARGEST_FILE_BYTES = 16 * 1024 * 1024;

function readCertificates(path: string, refuse: (reason: string) => Error): string {
  let text: string;
  try {
    const found = statSync(path);
    if (!found.isFile()) throw refuse('it is not a file'); // a pipe would block
    if (found.size > LARGEST_FILE_BYTES) throw refuse(`it is larger than ${LARGEST_FILE_BYTES} bytes`);
    text = readFileSync(path, 'latin1');
  } catch (error) {
    throw error instanceof CertificateFileError
      ? error
      : refuse(osErrorText(-((error as NodeJS.ErrnoException).errno ?? 0)));
  }
  return text;
}

function blocksOf(text: string): string[] {
  return text.match(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END [A-Z0-9 ]*CERTIFICATE-----/g) ?? [];
}
