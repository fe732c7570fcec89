import type { Params, StartNetwork } from '../../protocol/index.ts';
import type { Command } from '../os/index.ts';
import type { Exit } from './state.ts';

/** A process that is about to be started. */
export interface WantedProcess {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
  /** The kind of its permission profile; `none` without a sandbox. */
  readonly sandbox: string;
  /** The network that the client asks for beside the profile. */
  readonly network?: StartNetwork;
  /** A shell that is started to copy the state that start-up files leave. */
  readonly purpose?: 'shellSnapshot';
  /** The user that the request names; without one it runs as the server's own. */
  readonly user?: string;
}

/** Is told about every process of a session. */
export interface ProcessObserver {
  /** Counts what has gone through the processes. */
  readonly bytes: { output: number; stdin: number };
  /** Called right before a process is started. What it throws refuses the start. */
  starting(process: WantedProcess): ObservedStart;
}

export interface ObservedExit extends Exit {
  /** It was ended since its time was over. */
  readonly timedOut?: boolean;
}

/** Either `failed` is called, or `started` and then `exited`. */
export interface ObservedStart {
  started(pid: number, spawnMs: number): void;
  failed(error: unknown): void;
  exited(exit: ObservedExit): void;
}

/** What a request wants to have started by this command. */
export function wantedProcess(
  { processId, sandbox, network, user }: Params<'process/start'>,
  { argv, cwd, io }: Command,
): WantedProcess {
  return {
    processId,
    argv,
    cwd: String(cwd),
    tty: io.type === 'pty',
    sandbox: sandbox?.permissions.type ?? 'none',
    ...(network && { network }),
    ...(user != null && { user }),
  };
}
