import type { Progress } from './copy/transfer.ts';

/** One line on a terminal that is redrawn in place; disposal clears it. */
export class ProgressBar implements Disposable {
  readonly #terminal: NodeJS.WriteStream;
  readonly #startedAt = performance.now();
  #drawnAt = 0;

  constructor(terminal: NodeJS.WriteStream) {
    this.#terminal = terminal;
  }

  show(progress: Progress): void {
    const now = performance.now();
    if (now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    const line = describe(progress, (now - this.#startedAt) / 1000, this.#terminal.columns ?? 80);
    this.#terminal.write(`\r\x1b[K${line}`);
  }

  [Symbol.dispose](): void {
    if (this.#drawnAt > 0) this.#terminal.write('\r\x1b[K');
    this.#drawnAt = 0;
  }
}

const REDRAW_MS = 100;
const BAR_WIDTH = 20;

/** The text of the line, cut to the width of the terminal. */
function describe({ doneBytes, totalBytes, doneFiles, totalFiles }: Progress, seconds: number, width: number): string {
  const share = totalBytes === 0 ? 0 : Math.min(doneBytes / totalBytes, 1);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = '#'.repeat(filled) + '.'.repeat(BAR_WIDTH - filled);
  const rate = seconds > 0 ? doneBytes / seconds : 0;
  const text = `[${bar}] ${size(doneBytes)} of ${size(totalBytes)}, ${size(rate)}/s, ${doneFiles} of ${totalFiles} files`;
  return text.slice(0, Math.max(width - 1, 0));
}

function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
