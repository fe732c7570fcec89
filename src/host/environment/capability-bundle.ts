import { ExecError, type PathUri } from '../../protocol/index.ts';
import type { FileView } from './file-view.ts';

export interface TextFile {
  readonly path: PathUri;
  readonly contents: string;
}

const FILE_BYTES = 1024 * 1024;
const BUNDLE_BYTES = 16 * 1024 * 1024;

/** The files of one root, within its limits; each file that cannot be read becomes a warning. */
export class CapabilityBundle {
  readonly warnings: string[] = [];
  readonly #view: FileView;
  #bytes = 0;

  constructor(view: FileView) {
    this.#view = view;
  }

  /** The text of a file; null if it is missing or refused. */
  async read(path: PathUri): Promise<TextFile | null> {
    const bytes = await this.#readWithinLimits(path);
    if (!bytes) return null;
    try {
      const contents = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
      this.#bytes += bytes.length;
      return { path, contents };
    } catch {
      return this.#refuse(`capability file ${path} is not UTF-8`); // the decoder's error has no details
    }
  }

  async #readWithinLimits(path: PathUri): Promise<Uint8Array | null> {
    try {
      const { isFile, size } = await this.#view.metadata(path);
      if (!isFile) return null;
      return this.#fits(path, size) ? await this.#readIfFits(path) : null;
    } catch (error) {
      const { kind, message } = ExecError.from(error);
      return kind === 'notFound' ? null : this.#refuse(`failed to inspect capability file ${path}: ${message}`);
    }
  }

  /** Checks the size again, as the file may have grown. */
  async #readIfFits(path: PathUri): Promise<Uint8Array | null> {
    const bytes = await this.#view.read(path);
    return this.#fits(path, bytes.length) ? bytes : null;
  }

  #fits(path: PathUri, size: number): boolean {
    if (size > FILE_BYTES) this.#refuse(`capability file ${path} exceeds the ${FILE_BYTES}-byte limit`);
    else if (this.#bytes + size > BUNDLE_BYTES) {
      this.#refuse(`capability root bundle exceeds the ${BUNDLE_BYTES}-byte limit`);
    } else return true;
    return false;
  }

  #refuse(warning: string): null {
    this.warnings.push(warning);
    return null;
  }
}
