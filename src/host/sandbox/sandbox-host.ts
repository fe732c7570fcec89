import { once } from '../../base/index.ts';
import { InstalledBubblewrap } from './launch/bubblewrap.ts';
import { FIRST_EMPTY } from './launch/confine.ts';
import type { Isolation } from './launch/isolation.ts';
import { NetworkMaker } from './launch/session-network.ts';
import { stageProgram } from './launch/stage.ts';
import { journalFolder, MountJournal, sweepMountPoints } from './view/mount-journal.ts';
import { MountPlans } from './view/mount-plans.ts';
import { MountPoints } from './view/mount-points.ts';

export interface SandboxHostOptions {
  /** The variables of the program: TMPDIR, and the folder of its state. */
  readonly environment: Readonly<Record<string, string>>;
  /** The processes that commands see: those of their sandbox, or all of this machine. File helpers see only their own sandbox. */
  readonly commandPids?: Isolation['pids'];
  /** Called when a journal of mount points cannot be removed, which concerns no sandbox. */
  readonly onJournalFault?: (error: unknown) => void;
}

/** The state that one program shares between all its sandboxes. */
export class SandboxHost {
  readonly environment: SandboxHostOptions['environment'];
  readonly commandPids: Isolation['pids'];
  readonly bubblewrap = new InstalledBubblewrap();
  readonly networks = new NetworkMaker(this.bubblewrap);
  readonly plans = new MountPlans(FIRST_EMPTY, stageProgram);
  /** The mount points of all sandboxes. The first call removes those that dead servers left. */
  readonly mountPoints: () => MountPoints;

  constructor({ environment, commandPids = 'own', onJournalFault }: SandboxHostOptions) {
    this.environment = environment;
    this.commandPids = commandPids;
    this.mountPoints = once(() => {
      const folder = journalFolder(environment);
      sweepMountPoints(folder, onJournalFault);
      return new MountPoints(new MountJournal(folder, onJournalFault));
    });
  }
}
