import { closeSync, write, writeSync } from 'node:fs';
import { type Child, familyMark, killFamily, PROCESS_MASK, spawn, streamPair } from '../os/index.ts';
import { presumedBubblewrap } from './bubblewrap.ts';
import { refused } from './confine.ts';
import { expandGlobs } from './glob-scan.ts';
import { filter, launcherArgs, mountPoints, usable } from './launcher.ts';
import { type MountPlan, planMounts } from './mount-plan.ts';
import type { Policy, Rule } from './policy.ts';
import { Refusal } from './refusal.ts';
import { nothing, strings } from './stage.ts';
import type { Survey } from './survey.ts';

/** The view a helper is to be given, or why there can be none. */
export type HelperView = MountPlan | Refusal;

/** A helper, and our end of a socket that leads to it; whoever has it closes it. */
export interface LaunchedHelper {
  readonly child: Child;
  readonly channel: number;
}

/** What the disk must look like to a program of ours that does something for a client. */
export function planHelper(program: string, policy: Policy, survey: Survey): HelperView {
  const rules: readonly Rule[] = [...policy.rules, { path: program, access: 'read', skipMissing: true }];
  try {
    const deniedMatches = expandGlobs(policy.deniedGlobs, policy.globDepth);
    return planMounts({ ...policy, rules }, deniedMatches, FIRST_EMPTY, survey);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/**
 * Starts programs of ours in sandboxes, each with one end of a socket as its only argument. A launcher can be kept
 * waiting for the next: it is loaded and knows everything but the view, so that a client waits for the mounts alone.
 */
export class HelperLaunchers implements AsyncDisposable {
  #waiting: WaitingLauncher | undefined;
  #replacement: NodeJS.Timeout | undefined;
  #over = false;

  /** From now on one waits for the next helper. */
  keepOneWaiting(program: string): void {
    if (!this.#over) this.#waiting ??= new WaitingLauncher(program, EMPTY_FILES_WHILE_WAITING);
  }

  launch(program: string, view: HelperView): LaunchedHelper {
    if (view instanceof Refusal) return refusing(program, view);
    const launcher = this.#take(program, view) ?? new WaitingLauncher(program, view.emptyFiles);
    try {
      return launcher.build(view);
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

  #take(program: string, { emptyFiles }: MountPlan): WaitingLauncher | undefined {
    const waiting = this.#waiting;
    if (waiting?.program !== program || emptyFiles > EMPTY_FILES_WHILE_WAITING) return undefined;
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
 * A launcher that reads what the view is to be. It needs no stage: the program has no use for an environment or a
 * directory, and closes by itself what it inherits.
 */
class WaitingLauncher implements AsyncDisposable {
  readonly program: string;
  readonly #child: Child;
  readonly #mark = familyMark(process.pid, HELPERS, launches++);
  readonly #ownEnds: { readonly args: number; readonly channel: number };
  #claim: Disposable | undefined;
  #state: 'waiting' | 'told' | 'over' = 'waiting';

  constructor(program: string, emptyFiles: number) {
    this.program = program;
    const { path } = usable(presumedBubblewrap());
    const [ownArgs, args] = streamPair();
    const [ownChannel, channel] = streamPair();
    this.#ownEnds = { args: ownArgs, channel: ownChannel };
    try {
      this.#child = spawn({
        argv: [path, '--args', String(ARGUMENTS), '--', program, String(FIRST_EMPTY + emptyFiles)],
        arg0: 'bwrap',
        cwd: '/',
        env: {},
        io: { type: 'pipe', stdin: 'open' },
        mark: this.#mark,
        inherit: [filter('isolated'), args, ...Array.from({ length: emptyFiles }, nothing), channel],
      });
    } catch (error) {
      this.#closeOwnEnds();
      throw error;
    } finally {
      closeSync(args);
      closeSync(channel);
    }
    void this.#child.exited.then((status) => this.#ended('signal' in status));
  }

  get alive(): boolean {
    return this.#state === 'waiting';
  }

  /** Has it make the sandbox and run the program there. */
  build(view: MountPlan): LaunchedHelper {
    const args = launcherArgs(view, usable(presumedBubblewrap()), { network: 'own', filter: FILTER });
    args.push('--as-pid-1'); // it starts no processes that somebody would have to reap
    this.#claim = mountPoints().claim(view.mountPoints);
    this.#state = 'told';
    send(this.#ownEnds.args, strings(args));
    return { child: this.#child, channel: this.#ownEnds.channel };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }

  async #ended(killed: boolean): Promise<void> {
    if (this.#state === 'waiting') this.#closeOwnEnds();
    this.#state = 'over';
    // A launcher that is killed while it builds the sandbox does not take its child with it.
    if (killed) await killFamily(this.#mark, PROCESS_MASK);
    this.#claim?.[Symbol.dispose]();
  }

  #closeOwnEnds(): void {
    closeSync(this.#ownEnds.args);
    closeSync(this.#ownEnds.channel);
  }
}

/** All of it, and the end. Whoever is gone by then tells so by its exit. */
function send(descriptor: number, bytes: Buffer): void {
  if (bytes.length > SOCKET_ROOM) {
    write(descriptor, bytes, () => closeSync(descriptor)); // elsewhere, as it may have to wait for the reader
    return;
  }
  try {
    writeSync(descriptor, bytes);
  } catch {
    // as said
  } finally {
    closeSync(descriptor);
  }
}

/** A process that says why there is no helper, and ends. */
function refusing(program: string, { message }: Refusal): LaunchedHelper {
  const { command } = refused({ argv: [program], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'open' } }, message);
  const [channel, other] = streamPair();
  closeSync(other);
  return { child: spawn({ ...command, mark: familyMark(process.pid, HELPERS, launches++) }), channel };
}

/** The number of a session that no session has: helpers belong to the server. */
const HELPERS = -1;
let launches = 0;

/** The descriptors a launcher finds open. */
const FILTER = 3;
const ARGUMENTS = 4;
const FIRST_EMPTY = 5;

/** As many as most views need, and some: a view that needs more gets a launcher of its own. */
const EMPTY_FILES_WHILE_WAITING = 8;
/** Later than the first answer of the helper that got the last one: two would be loaded at the same time. */
const REPLACEMENT_MS = 500;
/** What a socket takes before anybody reads it. */
const SOCKET_ROOM = 64 * 1024;
