import { closeSync } from 'node:fs';
import { type Child, killFamily, nextOwnMark, PROCESS_MASK, spawn, streamPair } from '../../os/index.ts';
import { ownFiles, secretPaths } from '../../own/index.ts';
import { expandGlobs } from '../policy/glob-scan.ts';
import type { Policy } from '../policy/resolution.ts';
import { Refusal } from '../refusal.ts';
import { type MountPlan, planMounts } from '../view/plan.ts';
import type { Survey } from '../view/survey.ts';
import { installedBubblewrap, requireUsable } from './bubblewrap.ts';
import { refused } from './confine.ts';
import { filter, launcherArgs } from './launcher.ts';
import { OrderedChild } from './ordered-child.ts';
import { mountList, nothing, strings } from './stage.ts';
import { helperPlace, type StagePlace, USUAL_HELPER_PLACE } from './stage-place.ts';
import { EMPTY_FILES_WHILE_WAITING, FIRST_FREE, PROGRAM_SOCKET, WaitingLauncher } from './waiting-launcher.ts';

/** The view a helper is to be given, or why there can be none. */
export type HelperView = MountPlan | Refusal;

/** A helper, and our end of a socket that leads to it; whoever has it closes it. */
export interface LaunchedHelper {
  readonly child: Child;
  readonly channel: number;
  /** What the helper must be told to refuse before anything else. */
  readonly refused: readonly string[];
  /** What it must be told to find in its view before that: paths and pins in turn, each ended by NUL. */
  readonly mounts: Buffer;
}

/** What the disk must look like to a program of ours that does something for a client. */
export function planHelper(policy: Policy, survey: Survey): HelperView {
  try {
    const deniedMatches = expandGlobs(policy.deniedGlobs, policy.globDepth);
    // Each device is a mount of its own, and a client that waits for a helper waits for all mounts.
    return planMounts(policy, {
      deniedMatches,
      firstEmpty: FIRST_EMPTY,
      survey,
      devices: 'null',
      missing: 'refuse',
      ownFiles,
      secrets: secretPaths.paths,
    });
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** Starts programs of ours in sandboxes, each with one end of a socket as its only argument; one can be kept waiting. */
export class HelperLaunchers implements AsyncDisposable {
  readonly #nextMark: () => bigint;
  #waiting: HelperLauncher | undefined;
  #replacement: NodeJS.Timeout | undefined;
  #over = false;

  /** A server gives marks by which its guardian finds what is left of a helper: a launcher that dies early leaves a child. */
  constructor(nextMark = ownMark) {
    this.#nextMark = nextMark;
  }

  /** Others with the same marks, among whom nobody waits. */
  apart(): HelperLaunchers {
    return new HelperLaunchers(this.#nextMark);
  }

  /** From now on one waits for the next helper. */
  keepOneWaiting(program: string): void {
    if (this.#over) return;
    this.#waiting ??= new HelperLauncher(program, USUAL_HELPER_PLACE, EMPTY_FILES_WHILE_WAITING, this.#nextMark());
  }

  launch(program: string, view: HelperView): LaunchedHelper {
    const place = view instanceof Refusal ? view : placeIn(view, program);
    if (view instanceof Refusal || place instanceof Refusal) {
      return refusing(program, place as Refusal, this.#nextMark());
    }
    const launcher =
      this.#take(program, place.path, view) ??
      new HelperLauncher(program, place.path, view.emptyFiles, this.#nextMark());
    try {
      return launcher.build(view, place.args);
    } catch (error) {
      void launcher[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    clearTimeout(this.#replacement);
    await this.#waiting?.[Symbol.asyncDispose]();
  }

  #take(program: string, path: string, { emptyFiles }: MountPlan): HelperLauncher | undefined {
    const waiting = this.#waiting;
    if (waiting?.program !== program || path !== USUAL_HELPER_PLACE || emptyFiles > EMPTY_FILES_WHILE_WAITING)
      return undefined;
    this.#waiting = undefined;
    this.#replacement = setTimeout(() => this.#replace(program), REPLACEMENT_MS).unref();
    return waiting.alive ? waiting : undefined;
  }

  #replace(program: string): void {
    try {
      this.keepOneWaiting(program);
    } catch {
      // no process can be started now: the next helper gets a launcher of its own
    }
  }
}

/**
 * A launcher that knows everything but the view. It needs no stage: the program has no use for an environment or a
 * directory, and closes by itself what it inherits.
 */
class HelperLauncher implements AsyncDisposable {
  readonly program: string;
  readonly #mark: bigint;
  readonly #emptyFiles: number;
  readonly #launcher: WaitingLauncher;

  /** The path is that of the program in the view. */
  constructor(program: string, path: string, emptyFiles: number, mark: bigint) {
    this.program = program;
    this.#mark = mark;
    this.#emptyFiles = emptyFiles;
    this.#launcher = new WaitingLauncher({
      launcher: requireUsable(installedBubblewrap.presumed()),
      program: [path, String(PROGRAM_SOCKET)],
      io: { type: 'pipe', stdin: 'closed' },
      mark,
      inherit: inherited(emptyFiles),
    });
  }

  get alive(): boolean {
    return this.#launcher.alive;
  }

  /** Has it make the sandbox and run the program there. */
  build(view: MountPlan, placing: readonly string[]): LaunchedHelper {
    const args = launcherArgs(view, requireUsable(installedBubblewrap.presumed()), {
      network: 'own',
      pids: 'own',
      filter: FILTER,
    });
    args.push(...placing);
    const channel = this.#launcher.build(strings(args));
    const child = new OrderedChild(this.#launcher, () => this.#another());
    void child.exited.then(async (status) => {
      // A launcher that is killed while it builds the sandbox does not take its child with it.
      if ('signal' in status) await killFamily(this.#mark, PROCESS_MASK);
    });
    return { child, channel, refused: view.refused, mounts: mountList(view.mounts) };
  }

  #another(): Child {
    return this.#launcher.spawnAnother({ mark: this.#mark, inherit: inherited(this.#emptyFiles) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#launcher[Symbol.asyncDispose]();
  }
}

const inherited = (emptyFiles: number): (number | Uint8Array)[] => [
  filter('isolated'),
  ...Array.from({ length: emptyFiles }, nothing),
];

function placeIn(view: MountPlan, program: string): StagePlace | Refusal {
  try {
    return helperPlace(program, view, requireUsable(installedBubblewrap.presumed()).proc);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** A process that says why there is no helper, and ends. */
function refusing(program: string, { message }: Refusal, mark: bigint): LaunchedHelper {
  const { command } = refused({ argv: [program], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' } }, message);
  const [channel, other] = streamPair();
  closeSync(other);
  return { child: spawn({ ...command, mark }), channel, refused: [], mounts: Buffer.alloc(0) };
}

const ownMark = (): bigint => nextOwnMark('helpers');

const FILTER = FIRST_FREE;
const FIRST_EMPTY = FIRST_FREE + 1;

/** Later than the first answer of the helper that got the last one: two would be loaded at the same time. */
const REPLACEMENT_MS = 500;
