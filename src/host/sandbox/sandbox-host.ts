import { once } from '../../base/index.ts';
import { InstalledBubblewrap } from './launch/bubblewrap.ts';
import { FIRST_EMPTY } from './launch/confine.ts';
import type { Isolation } from './launch/isolation.ts';
import { stageProgram } from './launch/stage.ts';
import { MountPlans } from './view/kept-plans.ts';
import { journalFolder, MountJournal, sweepMountPoints } from './view/mount-journal.ts';
import { MountPoints } from './view/mount-points.ts';

export interface SandboxHostOptions {
  /** The variables of the program: TMPDIR, and the folder of its state. */
  readonly environment: Readonly<Record<string, string>>;
  /** Whose processes commands see: those of their sandbox, or all of this machine. File helpers always have their own. */
  readonly commandPids?: Isolation['pids'];
  /** Told why a journal of mount points stays on the disk, which concerns no sandbox. */
  readonly onJournalFault?: (error: unknown) => void;
}

/** What one program keeps to make sandboxes with. */
export class SandboxHost {
  readonly environment: SandboxHostOptions['environment'];
  readonly commandPids: Isolation['pids'];
  readonly bubblewrap = new InstalledBubblewrap();
  readonly plans = new MountPlans(FIRST_EMPTY, stageProgram);
  /** Mount points that dead servers left are removed when the first are wanted. */
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
