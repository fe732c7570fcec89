import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ServerKeys {
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority of one test that no machine trusts. */
export class TestAuthority implements Disposable {
  /** The certificate to trust. */
  readonly file: string;
  readonly folder: string;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'test-authority-'));
    this.file = join(this.folder, 'authority.pem');
    const extensions = ['-addext', 'keyUsage=critical,keyCertSign'];
    const subject = ['-days', '2', '-subj', '/CN=test authority'];
    this.#openssl('req', '-x509', ...this.#newKey('authority'), '-out', this.file, ...subject, ...extensions);
  }

  /** Keys of a server with these names: `DNS:…`, `IP:…`. */
  issue(...names: readonly string[]): ServerKeys {
    const [request, certificate] = [join(this.folder, 'server.csr'), join(this.folder, 'server.pem')];
    const extensions = this.write('extensions', `subjectAltName=${names.join()}\nbasicConstraints=CA:FALSE\n`);
    this.#openssl('req', ...this.#newKey('server'), '-out', request, '-subj', '/CN=server');
    const issuer = ['-CA', this.file, '-CAkey', join(this.folder, 'authority.key'), '-set_serial', '2'];
    this.#openssl('x509', '-req', '-in', request, ...issuer, '-days', '2', '-extfile', extensions, '-out', certificate);
    return { key: readFileSync(join(this.folder, 'server.key'), 'utf8'), cert: readFileSync(certificate, 'utf8') };
  }

  /** Writes a file beside the certificate; gives its path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }

  #newKey(name: string): string[] {
    const curve = ['-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    return ['-newkey', 'ec', ...curve, '-nodes', '-keyout', join(this.folder, `${name}.key`)];
  }

  #openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { stdio: 'pipe' });
  }
}
