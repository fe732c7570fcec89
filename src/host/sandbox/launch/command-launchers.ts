import { accessSync, constants, statSync } from 'node:fs';
import { type Child, spawn } from '../../os/index.ts';
import { type Confined, type LaunchOrder, type LeashedLauncher, replaceLauncher, waitForOrder } from './confine.ts';
import { LauncherPool } from './launcher-pool.ts';
import type { Leash } from './leash.ts';
import { ReplaceableChild } from './replaceable-child.ts';
import type { Command } from './stage.ts';
import { EMPTY_FILES_WHILE_WAITING, SOCKET_ROOM, sendAll } from './waiting-launcher.ts';

type Io = Command['io'];

/**
 * Starts sandboxed commands. A client that ran one will run another, wired the same way: a launcher is loaded for it while the
 * first is at work.
 */
export class CommandLaunchers implements AsyncDisposable {
  /** One kind for each way a command can be wired. */
  readonly #pool = new LauncherPool<LeashedLauncher>();

  /** Throws SpawnError. */
  spawn({ command, order, leash }: Confined, mark: bigint): Child {
    const child = (order && this.#order(command, order, mark)) ?? spawnHeld(command, leash, mark);
    if (!order) return child;
    // Once the answer is on its way.
    this.#pool.fillLater(wiring(command.io), () => waitForOrder(order.launcher, command.io, EMPTY_FILES_WHILE_WAITING));
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }

  /** Has a waiting launcher start a command. */
  #order(
    { io, cwd }: Command,
    { args, request, emptyFiles, keepMountPoints }: LaunchOrder,
    mark: bigint,
  ): Child | undefined {
    if (emptyFiles > EMPTY_FILES_WHILE_WAITING || !canEnter(cwd)) return undefined;
    if (args.length > SOCKET_ROOM || request.length > SOCKET_ROOM) return undefined; // half an order would be taken
    const loaded = this.#pool.take(wiring(io));
    if (!loaded) return undefined;
    const { waiting, leash } = loaded;
    const { child } = waiting;
    const outcome = child.join(mark);
    if (outcome !== 'joined') {
      if (outcome === 'refused') this.#pool.close(); // none can be given a family, as where bubblewrap is setuid
      void waiting[Symbol.asyncDispose]();
      return undefined;
    }
    leash.holds(mark);
    sized(child, io);
    const socket = waiting.build(args);
    keepMountPoints();
    // After the arguments, all of which are there by now: a launcher that is cut short has no request, without which nothing runs.
    sendAll(socket, request);
    return new ReplaceableChild(waiting, () => sized(replaceLauncher(waiting, mark, EMPTY_FILES_WHILE_WAITING), io));
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
