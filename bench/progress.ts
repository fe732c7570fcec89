import type { WriteStream } from 'node:tty';

/** Says what is going on: one changing line on a terminal, one line per finished step elsewhere. */
export interface Progress {
  show(activity: string): void;
  finish(step: string): void;
  clear(): void;
}

const eraseLine = '\r\x1b[K';

export function progressOn(stream: WriteStream): Progress {
  if (!stream.isTTY) {
    return { show: () => {}, finish: (step) => stream.write(`done: ${step}\n`), clear: () => {} };
  }
  return {
    show: (activity) => stream.write(`${eraseLine}${activity.slice(0, (stream.columns || 80) - 1)}`),
    finish: () => {},
    clear: () => stream.write(eraseLine),
  };
}
