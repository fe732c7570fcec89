import { accessSync, constants, statSync } from 'node:fs';
import { type Child, type Command, spawn } from '../../os/index.ts';
import { type CommandLauncher, type Confined, type LaunchOrder, replaceLauncher, waitForOrder } from './confine.ts';
import type { ControlSocket } from './control-socket.ts';
import { LauncherPool } from './launcher-pool.ts';
import { ReplaceableChild } from './replaceable-child.ts';
import { EMPTY_FILES_WHILE_WAITING, SOCKET_ROOM, sendAll } from './waiting-launcher.ts';

type Io = Command['io'];

/**
 * Starts sandboxed commands. A client that ran a command will run another one that is wired the same way: a launcher is loaded for
 * it while the first command runs.
 */
export class CommandLaunchers implements AsyncDisposable {
  /** One kind of launcher for each way to wire the standard descriptors. */
  readonly #pool = new LauncherPool<CommandLauncher>();

  /** Throws SpawnError. */
  spawn({ command, order, controlSocket }: Confined, mark: bigint): Child {
    const child = (order && this.#spawnByOrder(command, order, mark)) ?? spawnLauncher(command, controlSocket, mark);
    if (!order) return child;
    // After the answer has been sent.
    this.#pool.fillLater(wiring(command.io), () => waitForOrder(order.launcher, command.io, EMPTY_FILES_WHILE_WAITING));
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }

  /** Has a waiting launcher start a command; undefined where none can. */
  #spawnByOrder(
    { io, cwd }: Command,
    { args, request, emptyFiles, prepareMountPoints }: LaunchOrder,
    mark: bigint,
  ): Child | undefined {
    if (emptyFiles > EMPTY_FILES_WHILE_WAITING || !canEnter(cwd)) return undefined;
    if (args.length > SOCKET_ROOM || request.length > SOCKET_ROOM) return undefined; // the launcher could read half an order
    const launcher = this.#pool.take(wiring(io));
    if (!launcher) return undefined;
    const { waiting, controlSocket } = launcher;
    const { child } = waiting;
    const outcome = child.join(mark);
    if (outcome !== 'joined') {
      if (outcome === 'refused') this.#pool.close(); // no launcher can be given a family, as where bubblewrap is setuid
      void waiting[Symbol.asyncDispose]();
      return undefined;
    }
    controlSocket.rememberFamily(mark);
    resized(child, io);
    const socket = waiting.build(args);
    prepareMountPoints();
    // After the arguments: if the server dies before this line, the sandbox has no request, and runs nothing.
    sendAll(socket, request);
    return new ReplaceableChild(waiting, () => resized(replaceLauncher(waiting, mark, EMPTY_FILES_WHILE_WAITING), io));
  }
}

function spawnLauncher(command: Command, controlSocket: ControlSocket | undefined, mark: bigint): Child {
  const child = spawn({ ...command, mark });
  controlSocket?.rememberFamily(mark);
  return child;
}

function resized(child: Child, io: Io): Child {
  if (io.type === 'pty') child.resize(io.rows, io.cols);
  return child;
}

/** Whether a command could be started in a directory. If not, a launcher that is started there reports why. */
function canEnter(directory: string | Buffer): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return statSync(directory).isDirectory();
  } catch {
    return false; // missing, or not accessible
  }
}

const wiring = (io: Io): string => (io.type === 'pty' ? 'pty' : `${io.stdin} ${io.stderr ?? 'separate'}`);
