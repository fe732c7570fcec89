import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { packageRoot } from './package-root.ts';

/** A program of this package, one file per module, that tells which of its files are at work. */
export class CoveredProgram implements Disposable {
  /** For `node`. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly #folder = mkdtempSync('/var/tmp/exec-server-covered-');

  /** The file is one of `dist/`, or one that imports them. */
  constructor(file: string, args: readonly string[] = []) {
    const preload = fileURLToPath(new URL('function-coverage.cjs', import.meta.url));
    this.args = ['--require', preload, join(packageRoot(), file), ...args];
    this.env = { COVERAGE_SOCKET: this.#socket };
  }

  /** The files of `src/` in which a function ran since this was last asked, until none runs any more. */
  async filesAtWork(): Promise<Set<string>> {
    const all = new Set<string>();
    for (let ran = await this.#take(); ran.length > 0; ran = await this.#take()) {
      for (const file of ran) all.add(file);
      await delay(SETTLING_MS);
    }
    return all;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }

  get #socket(): string {
    return join(this.#folder, 'socket');
  }

  async #take(): Promise<string[]> {
    const urls = JSON.parse(await text(connect(this.#socket))) as string[];
    return urls.flatMap((url) => (url.startsWith(DIST) ? [`${url.slice(DIST.length).replace(/\.js$/, '.ts')}`] : []));
  }
}

const DIST = pathToFileURL(join(packageRoot(), 'dist/')).href;

/** Longer than the parts of one action lie apart. */
const SETTLING_MS = 100;
