import { readFileSync } from 'node:fs';
import type { Logger } from '../base/index.ts';
import type { ListenAddress, TlsIdentity } from '../server/index.ts';
import type { Values } from './arguments.ts';
import { UsageError } from './usage-error.ts';

export const tlsOptions = {
  'tls-cert': {
    type: 'string',
    value: 'FILE',
    help: 'PEM file with the certificate of a wss:// address, followed by those of its authorities; read again on SIGHUP',
  },
  'tls-key': { type: 'string', value: 'FILE', help: 'PEM file with its private key, without a passphrase' },
} as const;

export type TlsValues = Values<typeof tlsOptions>;

/** Reads the certificate and the key that a `wss:` address needs, and an inherited socket may have; undefined for other addresses. */
export function readTls(values: TlsValues, address: ListenAddress, log: Logger): TlsIdentity | undefined {
  const { 'tls-cert': certificateFile, 'tls-key': keyFile } = values;
  const isSecure = address.type === 'websocket' && address.secure;
  const isGiven = certificateFile !== undefined || keyFile !== undefined;
  if (!isSecure && !isGiven) return undefined;
  if (!isSecure && address.type !== 'inherited') {
    throw new UsageError('--tls-cert and --tls-key are for a wss:// address: use --listen wss://IP:PORT');
  }
  if (certificateFile === undefined || keyFile === undefined) {
    throw new UsageError('--listen wss://IP:PORT needs --tls-cert FILE and --tls-key FILE');
  }
  const identity = { certificate: readPem('--tls-cert', certificateFile), key: readPem('--tls-key', keyFile) };
  checkPair(identity, certificateFile, keyFile, log);
  return identity;
}

/** What is wrong with a file that cannot be read, for a person. */
const READ_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'this user may not read it (EACCES)',
};

function readPem(flag: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`cannot read ${file}, the file of ${flag}: ${READ_FAULTS[code ?? ''] ?? code}`);
  }
}

/** Finds out what is wrong with a pair of files before a client does. */
function checkPair({ certificate, key }: TlsIdentity, certificateFile: string, keyFile: string, log: Logger): void {
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule('node:crypto');
  const parse = <T>(file: string, what: string, read: () => T): T => {
    try {
      return read();
    } catch (error) {
      const isEncrypted = (error as NodeJS.ErrnoException).code === 'ERR_MISSING_PASSPHRASE';
      throw new UsageError(
        isEncrypted
          ? `the key in ${file} has a passphrase; store it without one, mode 0600`
          : `${file} contains no ${what} in PEM form`,
      );
    }
  };
  const parsed = parse(certificateFile, 'certificate', () => new X509Certificate(certificate));
  const privateKey = parse(keyFile, 'private key', () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey)) {
    throw new UsageError(`the key in ${keyFile} does not belong to the first certificate in ${certificateFile}`);
  }
  const { validTo } = parsed;
  if (Date.parse(validTo) < Date.now()) log.warn('certificate.expired', { file: certificateFile, since: validTo });
}
