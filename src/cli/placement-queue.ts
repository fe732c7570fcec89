import { posix } from 'node:path';
import { deferred } from '../base/index.ts';
import { inTheWay } from './copy-side.ts';
import type { RemoteCommands } from './remote-commands.ts';

/** A finished file or link that goes to its place, or a mode that a directory gets. */
export type Placement =
  | { readonly type: 'file'; readonly mode: number; readonly unfinished: string; readonly path: string }
  | { readonly type: 'link'; readonly target: string; readonly unfinished: string; readonly path: string }
  | { readonly type: 'mode'; readonly mode: number; readonly path: string };

interface Waiting {
  readonly placement: Placement;
  readonly done: ReturnType<typeof deferred<void>>;
}

/** Carries placements out on a server: one shell at a time takes all that came while the one before it ran. */
export class PlacementQueue {
  readonly #commands: RemoteCommands;
  readonly #waiting: Waiting[] = [];
  #running = false;

  constructor(commands: RemoteCommands) {
    this.#commands = commands;
  }

  /** Rejects with what the server's program says. Callers bound the queue: each waits for its own placement. */
  add(placement: Placement): Promise<void> {
    const done = deferred();
    this.#waiting.push({ placement, done });
    void this.#work();
    return done.promise;
  }

  async #work(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#waiting.length > 0) await this.#carryOut(this.#waiting.splice(0, AT_A_TIME));
    this.#running = false;
  }

  async #carryOut(batch: readonly Waiting[]): Promise<void> {
    try {
      const orders = batch.flatMap(({ placement }) => order(placement));
      const printed = await this.#commands.output(['sh', '-c', SCRIPT, 'sh', ...orders]);
      const answers = printed.split('\0');
      for (const [at, { done, placement }] of batch.entries()) {
        const [said = '', status] = [answers[2 * at], answers[2 * at + 1]];
        if (status === '0') done.resolve();
        else done.reject(new Error(said.trim() || `the server did not say whether ${placement.path} was written`));
      }
    } catch (error) {
      for (const { done } of batch) done.reject(error as Error);
    }
  }
}

/** Arguments of one shell: far below what a kernel allows, with paths of any length. */
const AT_A_TIME = 16;

/**
 * Five words for each placement: kind, mode or target, unfinished file, directory, name in it. Prints what its programs said and
 * the status, each ended by a NUL. A directory is entered only where its path, links resolved, is the one that was asked for.
 */
const SCRIPT = `entered=
enter() {
  [ "$1" = "$entered" ] && return
  entered=
  cd -P -- "$1" || return
  [ "$(pwd -P; echo .)" = "$1
." ] || { echo '${inTheWay.swapped}'; return 1; }
  entered=$1
}
free() { ! [ -d "$1" ] || [ -L "$1" ] || { echo '${inTheWay.directory}'; return 1; }; }
while [ $# -gt 0 ]; do
  case $1 in
    file) enter "$4" && free "./$5" && chmod -- "$2" "$3" && mv -f -T -- "$3" "./$5" ;;
    link) enter "$4" && free "./$5" && ln -s -- "$2" "$3" && mv -f -T -- "$3" "./$5" ;;
    mode) enter "$4" && chmod -- "$2" . ;;
  esac 2>&1
  printf '\\0%s\\0' $?
  shift 5
done`;

function order(placement: Placement): [string, string, string, string, string] {
  const { type, path } = placement;
  if (type === 'mode') return [type, octal(placement.mode), '-', path, '-'];
  const what = type === 'file' ? octal(placement.mode) : placement.target;
  return [type, what, placement.unfinished, posix.dirname(path), posix.basename(path)];
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');
