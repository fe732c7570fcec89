/** The terminal of this program in raw mode, with a listener for its size; disposal restores its mode. */
export class Terminal implements Disposable {
  readonly #resized: () => void;
  readonly #isRaw: boolean;

  constructor(onResize: (rows: number, cols: number) => void) {
    this.#isRaw = process.stdin.isTTY === true;
    if (this.#isRaw) process.stdin.setRawMode(true);
    this.#resized = () => {
      const { rows, cols } = Terminal.size();
      onResize(rows, cols);
    };
    process.stdout.on('resize', this.#resized);
  }

  /** A terminal without a window, such as one of `script` or of a container, has no rows and no columns. */
  static size(): { rows: number; cols: number } {
    return { rows: process.stdout.rows || 24, cols: process.stdout.columns || 80 };
  }

  [Symbol.dispose](): void {
    process.stdout.off('resize', this.#resized);
    if (this.#isRaw) process.stdin.setRawMode(false);
  }
}
