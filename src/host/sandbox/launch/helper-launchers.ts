import { closeSync } from 'node:fs';
import { type Child, killFamily, nextOwnMark, PROCESS_MASK, spawn, streamPair } from '../../os/index.ts';
import { ownFiles, secretPaths } from '../../own/index.ts';
import { expandGlobs } from '../policy/glob-scan.ts';
import type { AccessPolicy } from '../policy/resolution.ts';
import type { SandboxHost } from '../sandbox-host.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import type { DiskFacts } from '../view/disk-facts.ts';
import { type MountPlan, planMounts } from '../view/plan.ts';
import { type InstalledBubblewrap, requireUsable } from './bubblewrap.ts';
import { refusedCommand } from './confine.ts';
import { filter, launcherArgs } from './launcher.ts';
import { LauncherPool } from './launcher-pool.ts';
import { ReplaceableChild } from './replaceable-child.ts';
import { mountList, nullDescriptor, strings } from './stage.ts';
import { helperPlace, type StagePlace, USUAL_HELPER_PLACE } from './stage-place.ts';
import { EMPTY_FILES_WHILE_WAITING, FIRST_FREE, PROGRAM_SOCKET, WaitingLauncher } from './waiting-launcher.ts';

/** The view of a helper, or the reason why it cannot be made. */
export type HelperView = MountPlan | UnenforceablePolicy;

/** A helper, and the near end of a socket to it, which the caller closes. */
export interface LaunchedHelper {
  readonly child: Child;
  readonly channel: number;
  /** The paths that the helper must be told to refuse before its first request. */
  readonly refused: readonly string[];
  /** The mounts that the helper must check in its view before that: paths and pins in turn, each ended by NUL. */
  readonly mounts: Buffer;
}

/** The view for a helper that works for a client. */
export function planHelper(policy: AccessPolicy, facts: DiskFacts): HelperView {
  try {
    const deniedMatches = expandGlobs(policy.deniedGlobs, policy.globDepth);
    // Each device is a mount of its own, and a client that waits for a helper waits for every mount.
    return planMounts(policy, {
      deniedMatches,
      firstEmpty: FIRST_EMPTY,
      facts,
      devices: 'null',
      missing: 'refuse',
      ownFiles,
      secrets: secretPaths.paths,
    });
  } catch (error) {
    if (error instanceof UnenforceablePolicy) return error;
    throw error;
  }
}

/** Starts programs of this package in sandboxes, each with one end of a socket as its only argument. */
export class HelperLaunchers implements AsyncDisposable {
  readonly #host: SandboxHost;
  readonly #nextMark: () => bigint;
  /** One kind of launcher for each program. */
  readonly #pool = new LauncherPool<HelperLauncher>();
  /** The programs for which a launcher is kept idle. */
  readonly #kept = new Set<string>();

  /** A server gives marks by which its guardian finds the child that a launcher leaves if it is killed early. */
  constructor(host: SandboxHost, nextMark = ownMark) {
    this.#host = host;
    this.#nextMark = nextMark;
  }

  /** A second pool with the same marks and no idle launcher. */
  apart(): HelperLaunchers {
    return new HelperLaunchers(this.#host, this.#nextMark);
  }

  /** From now on keeps a launcher idle for the next helper. */
  keepOneWaiting(program: string): void {
    this.#kept.add(program);
    this.#pool.fill(program, () => this.#load());
  }

  launch(program: string, view: HelperView): LaunchedHelper {
    const place = view instanceof UnenforceablePolicy ? view : this.#placeIn(view, program);
    if (view instanceof UnenforceablePolicy || place instanceof UnenforceablePolicy) {
      return refusedHelper(program, place as UnenforceablePolicy, this.#nextMark());
    }
    const launcher = this.#take(program, place.path, view) ?? this.#load(place.path, view.emptyFiles);
    try {
      return launcher.build(view, place.args);
    } catch (error) {
      void launcher.waiting[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a program that needs no sandbox, because the client has none. */
  launchOutside(program: string): LaunchedHelper {
    const [channel, other] = streamPair();
    const io = { type: 'pipe', stdin: 'closed' } as const;
    try {
      const child = spawn({ argv: [program, '3'], cwd: '/', env: {}, io, mark: this.#nextMark(), inherit: [other] });
      return { child, channel, refused: [], mounts: Buffer.alloc(0) };
    } catch (error) {
      closeSync(channel);
      throw error;
    } finally {
      closeSync(other);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }

  /** The idle launcher, if it can make the view. */
  #take(program: string, path: string, { emptyFiles }: MountPlan): HelperLauncher | undefined {
    if (path !== USUAL_HELPER_PLACE || emptyFiles > EMPTY_FILES_WHILE_WAITING) return undefined;
    const launcher = this.#pool.take(program);
    if (this.#kept.has(program)) this.#pool.fillLater(program, () => this.#load(), REPLACEMENT_MS);
    return launcher;
  }

  /** `path` is the path of the program in the view. */
  #load(path = USUAL_HELPER_PLACE, emptyFiles = EMPTY_FILES_WHILE_WAITING): HelperLauncher {
    return new HelperLauncher({ bubblewrap: this.#host.bubblewrap, path, emptyFiles, mark: this.#nextMark() });
  }

  #placeIn(view: MountPlan, program: string): StagePlace | UnenforceablePolicy {
    try {
      return helperPlace(program, view, requireUsable(this.#host.bubblewrap.presumed()).proc);
    } catch (error) {
      if (error instanceof UnenforceablePolicy) return error;
      throw error;
    }
  }
}

interface HelperLauncherOptions {
  readonly bubblewrap: InstalledBubblewrap;
  readonly path: string;
  readonly emptyFiles: number;
  readonly mark: bigint;
}

/**
 * A launcher that knows everything except the view. It needs no stage: the program needs no environment and no working
 * directory, and closes inherited descriptors itself.
 */
class HelperLauncher {
  readonly waiting: WaitingLauncher;
  readonly #bubblewrap: InstalledBubblewrap;
  readonly #mark: bigint;
  readonly #emptyFiles: number;

  constructor({ bubblewrap, path, emptyFiles, mark }: HelperLauncherOptions) {
    this.#bubblewrap = bubblewrap;
    this.#mark = mark;
    this.#emptyFiles = emptyFiles;
    this.waiting = new WaitingLauncher({
      launcher: requireUsable(bubblewrap.presumed()),
      program: [path, String(PROGRAM_SOCKET)],
      io: { type: 'pipe', stdin: 'closed' },
      mark,
      inherit: inherited(emptyFiles),
    });
  }

  /** Makes the sandbox, and runs the program there. */
  build(view: MountPlan, placeArgs: readonly string[]): LaunchedHelper {
    const args = launcherArgs(view, requireUsable(this.#bubblewrap.presumed()), {
      network: 'own',
      pids: 'own',
      filter: FILTER,
    });
    args.push(...placeArgs);
    const channel = this.waiting.build(strings(args));
    const child = new ReplaceableChild(this.waiting, () => this.#startAnother());
    void child.exited.then(async (status) => {
      // When a launcher is killed while it builds the sandbox, its child lives on.
      if ('signal' in status) await killFamily(this.#mark, PROCESS_MASK);
    });
    return { child, channel, refused: view.refused, mounts: mountList(view.mounts) };
  }

  #startAnother(): Child {
    return this.waiting.spawnAnother({ mark: this.#mark, inherit: inherited(this.#emptyFiles) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.waiting[Symbol.asyncDispose]();
  }
}

const inherited = (emptyFiles: number): (number | Uint8Array)[] => [
  filter('isolated'),
  ...Array.from({ length: emptyFiles }, nullDescriptor),
];

/** A process that prints why there is no helper, and ends. */
function refusedHelper(program: string, { message }: UnenforceablePolicy, mark: bigint): LaunchedHelper {
  const { command } = refusedCommand(
    { argv: [program], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' } },
    message,
  );
  const [channel, other] = streamPair();
  closeSync(other);
  return { child: spawn({ ...command, mark }), channel, refused: [], mounts: Buffer.alloc(0) };
}

const ownMark = (): bigint => nextOwnMark('helpers');

const FILTER = FIRST_FREE;
const FIRST_EMPTY = FIRST_FREE + 1;

/** Later than the first answer of the helper that took the launcher, because loading two programs at once delays that answer. */
const REPLACEMENT_MS = 500;
