import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scale } from './scale.ts';

export const MiB = 2 ** 20;
const treeDirectories = 50;
const filesPerDirectory = 100;

/** The files the workloads read, and the known content they are made of. */
export class Fixtures {
  /** Printable and without newlines, so that a terminal passes it on unchanged. Its prime length shows misplaced chunks. */
  readonly pattern = makePattern(65_521);
  readonly bulkBytes: number;
  readonly bulk: string;
  readonly file1K: string;
  readonly file1M: string;
  readonly file64M: string;
  readonly directory1K: string;
  readonly directory10K: string;
  readonly tree: string;
  readonly treeEntries = treeDirectories * (filesPerDirectory + 1);
  /** For what the workloads write. */
  readonly work: string;
  /** Outside any sandbox's writable part; `sandboxWork` inside it is writable. */
  readonly sandbox: string;
  readonly sandboxWork: string;

  readonly #repeated = Buffer.concat([this.pattern, this.pattern, this.pattern]);
  readonly #roots: string[];

  constructor(scale: Scale, directory: string | undefined) {
    this.bulkBytes = scale.bulkMiB * MiB;
    const root = mkdtempSync(join(directory ?? fastDirectory(this.bulkBytes + 512 * MiB), 'exec-bench-'));
    // A sandbox replaces /dev, so its fixture cannot lie in /dev/shm; nor in /tmp, which profiles treat specially.
    this.sandbox = mkdtempSync(join(directory ?? '/var/tmp', 'exec-bench-sandbox-'));
    this.#roots = [root, this.sandbox];
    this.bulk = this.#writePattern(join(root, 'bulk'), this.bulkBytes);
    this.file1K = this.#writePattern(join(root, 'file-1k'), 1024);
    this.file1M = this.#writePattern(join(root, 'file-1m'), MiB);
    this.file64M = this.#writePattern(join(root, 'file-64m'), 64 * MiB);
    this.directory1K = makeDirectory(join(root, 'directory-1k'), 1_000, '');
    this.directory10K = makeDirectory(join(root, 'directory-10k'), 10_000, '');
    this.tree = makeDirectory(join(root, 'tree'), 0, '');
    for (let i = 0; i < treeDirectories; i++) {
      makeDirectory(join(this.tree, `directory-${i}`), filesPerDirectory, 'a line of a small file\n'.repeat(16));
    }
    this.work = makeDirectory(join(root, 'work'), 0, '');
    this.sandboxWork = makeDirectory(join(this.sandbox, 'work'), 0, '');
  }

  /** The pattern file's content from an offset on. */
  slice(offset: number, length: number): Buffer {
    const { length: period } = this.pattern;
    return this.#repeated.subarray(offset % period, (offset % period) + length);
  }

  /** Whether these are the bytes of a pattern file at that offset. */
  matches(bytes: Buffer, offset: number): boolean {
    const { length: period } = this.pattern;
    for (let at = 0; at < bytes.length; at += period) {
      const part = bytes.subarray(at, at + period);
      if (!part.equals(this.slice(offset + at, part.length))) return false;
    }
    return true;
  }

  [Symbol.dispose](): void {
    for (const root of this.#roots) rmSync(root, { recursive: true, force: true });
  }

  /** Written piece by piece: a benchmark that grows large forks, and so starts servers, slowly. */
  #writePattern(path: string, bytes: number): string {
    const file = openSync(path, 'w');
    for (let at = 0; at < bytes; at += this.pattern.length) {
      writeSync(file, this.pattern, 0, Math.min(this.pattern.length, bytes - at));
    }
    closeSync(file);
    return path;
  }
}

export const fileUri = (path: string): string => `file://${path}`;

/** In memory if there is room, to keep the disk out of the figures; containers often have a tiny /dev/shm. */
function fastDirectory(bytes: number): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > bytes ? '/dev/shm' : tmpdir();
  } catch {
    return tmpdir(); // no /dev/shm at all
  }
}

function makeDirectory(path: string, files: number, content: string): string {
  mkdirSync(path);
  for (let i = 0; i < files; i++) writeFileSync(join(path, `file-${String(i).padStart(5, '0')}.txt`), content);
  return path;
}

function makePattern(length: number): Buffer {
  const pattern = Buffer.alloc(length);
  let state = 12_345;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    pattern[i] = 0x30 + ((state >>> 16) % 75);
  }
  return pattern;
}
