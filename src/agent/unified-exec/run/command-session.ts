import type { Mutex } from '../../../base/index.ts';
import type { Confinement } from '../../approval/index.ts';
import type { CommandItem } from '../report/command-item.ts';
import type { CommandProcess } from './command-process.ts';
import type { NetworkScope } from './network-scope.ts';

/** A command that outlived its start, with everything that later calls need. */
export interface CommandSession {
  readonly id: number;
  /** The call that started it. */
  readonly callId: string;
  readonly process: CommandProcess;
  readonly item: CommandItem;
  readonly scope: NetworkScope | undefined;
  readonly environmentId: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
  readonly sandboxed: boolean;
  readonly confinement: Confinement;
  /** Lets one call use the session at a time. */
  readonly mutex: Mutex;
  /** A second attempt has replaced the command. */
  isSuperseded: boolean;
  lastUsed: number;
}
