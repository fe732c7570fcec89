import { accessSync, constants, statSync } from 'node:fs';
import { type Child, spawn } from '../../os/index.ts';
import type { UsableBubblewrap } from './bubblewrap.ts';
import { type Confined, type LaunchOrder, type LeashedLauncher, replaceLauncher, waitForOrder } from './confine.ts';
import type { Leash } from './leash.ts';
import { OrderedChild } from './ordered-child.ts';
import type { Command } from './stage.ts';
import { EMPTY_FILES_WHILE_WAITING, SOCKET_ROOM, sendAll } from './waiting-launcher.ts';

type Io = Command['io'];

/**
 * Starts sandboxed commands. Whoever ran one will run another, wired the same way: a launcher is loaded for it while the
 * first is at work.
 */
export class CommandLaunchers implements AsyncDisposable {
  /** At most one for each way a command can be wired. */
  readonly #waiting = new Map<string, LeashedLauncher>();
  /** Not any more when this is over, or one could not be given a family, as happens where bubblewrap is setuid. */
  #keepsWaiting = true;

  /** Throws SpawnError. */
  spawn({ command, order, leash }: Confined, mark: bigint): Child {
    const child = (order && this.#order(command, order, mark)) ?? spawnHeld(command, leash, mark);
    if (!order) return child;
    setImmediate(() => this.#keepOneWaiting(command.io, order.launcher)); // once the answer is on its way
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keepsWaiting = false;
    await Promise.all([...this.#waiting.values()].map(({ waiting }) => waiting[Symbol.asyncDispose]()));
  }

  /** Has a waiting launcher start a command. */
  #order(
    { io, cwd }: Command,
    { args, request, emptyFiles, keepMountPoints }: LaunchOrder,
    mark: bigint,
  ): Child | undefined {
    const leashed = this.#waiting.get(wiring(io));
    if (!leashed || emptyFiles > EMPTY_FILES_WHILE_WAITING) return undefined;
    if (args.length > SOCKET_ROOM || request.length > SOCKET_ROOM) return undefined; // half an order would be taken
    if (!canEnter(cwd)) return undefined;
    this.#waiting.delete(wiring(io));
    const { waiting, leash } = leashed;
    const { child } = waiting;
    const outcome = waiting.alive ? child.join(mark) : 'over';
    if (outcome !== 'joined') {
      if (outcome === 'refused') this.#keepsWaiting = false;
      void waiting[Symbol.asyncDispose]();
      return undefined;
    }
    leash.holds(mark);
    sized(child, io);
    const socket = waiting.build(args);
    keepMountPoints();
    // After the arguments, all of which are there by now: a launcher that is cut short has no request, without which nothing runs.
    sendAll(socket, request);
    return new OrderedChild(waiting, () => sized(replaceLauncher(waiting, mark, EMPTY_FILES_WHILE_WAITING), io));
  }

  #keepOneWaiting(io: Io, launcher: UsableBubblewrap): void {
    if (!this.#keepsWaiting || this.#waiting.has(wiring(io))) return;
    try {
      this.#waiting.set(wiring(io), waitForOrder(launcher, io, EMPTY_FILES_WHILE_WAITING));
    } catch {
      // no process can be started now: the next command gets a launcher of its own
    }
  }
}

function spawnHeld(command: Command, leash: Leash | undefined, mark: bigint): Child {
  const child = spawn({ ...command, mark });
  leash?.holds(mark);
  return child;
}

function sized(child: Child, io: Io): Child {
  if (io.type === 'pty') child.resize(io.rows, io.cols);
  return child;
}

/** A launcher that is started there says why not, if not. */
function canEnter(directory: string | Buffer): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return statSync(directory).isDirectory();
  } catch {
    return false; // it is not there, or not for us
  }
}

const wiring = (io: Io): string => (io.type === 'pty' ? 'pty' : io.stdin);
