import { constants } from 'node:os';
import { ExecError } from '../../../protocol/index.ts';
import type { Command, ExitStatus } from '../../os/index.ts';
import { type ControlGroup, controlGroups, type GroupLimit, type GroupPlace } from './control-groups.ts';
import { familyWatch } from './family-watch.ts';
import type { Enforcers, ExceededLimit, LimitName, ResourceLimits } from './limit-names.ts';

/** What is known of a process once it is started. */
export interface LimitedProcess {
  readonly pid: number;
  readonly mark: bigint;
  /** Whether the direct child is the bubblewrap that makes a sandbox. */
  readonly isLauncher: boolean;
  /** Ends the family. */
  readonly end: () => void;
}

/** The limits of one process: who enforces each, and which one it has exceeded. */
export class ImposedLimits {
  readonly enforcedBy: Enforcers;
  readonly #limits: ResourceLimits;
  readonly #group: ControlGroup | undefined;
  #watch: { leave(): void } | undefined;
  readonly #place: GroupPlace['place'];
  #isLauncher = false;
  #exceeded: ExceededLimit | undefined;

  /** Throws for a limit that cannot be enforced in its own meaning. */
  constructor(limits: ResourceLimits, groups: () => GroupPlace = controlGroups) {
    this.#limits = limits;
    const { place, reason } = needsGroup(limits) ? groups() : { place: undefined, reason: '' };
    const enforcedBy: Enforcers = {};
    for (const name of given(limits)) {
      if (name === 'fileBytes') enforcedBy[name] = 'rlimit';
      else if (place?.can(name)) enforcedBy[name] = 'cgroup';
      else if (name !== 'cpus') enforcedBy[name] = 'watch';
      else throw unenforceable(name, reason ?? 'the cgroup of the server does not have the controller cpu');
    }
    this.enforcedBy = enforcedBy;
    const inGroup = Object.fromEntries(given(limits).flatMap((name) => this.#in(name, 'cgroup')));
    this.#place = place;
    this.#group = place && Object.keys(inGroup).length > 0 ? createdIn(place, inGroup) : undefined;
  }

  /** The command with what it needs from its first moment on. */
  imposedOn(command: Command): Command {
    const { fileBytes } = this.#limits;
    const restrictions = { ...command.restrictions, fileBytes: fileBytes ?? undefined, cgroup: this.#group?.procs };
    return { ...command, restrictions };
  }

  started({ pid, mark, isLauncher, end }: LimitedProcess): void {
    this.#group?.joined();
    this.#isLauncher = isLauncher;
    const watched = Object.fromEntries(given(this.#limits).flatMap((name) => this.#in(name, 'watch')));
    if (Object.keys(watched).length === 0) return;
    const onExceeded = (limit: ExceededLimit): void => {
      this.#exceeded = limit;
      end();
    };
    this.#watch = familyWatch.watch({ mark, ...watched, ...(isLauncher && { launcher: pid }), onExceeded });
  }

  /** To be called instead of `started` if there is no process. */
  failed(): void {
    this.#group?.joined();
    this.release();
  }

  /** To be called when the direct child has exited. */
  exited(status: ExitStatus): void {
    this.#exceeded ??= this.#group?.exceeded ?? this.#fileExceeded(status);
  }

  /** The limit that was exceeded, as far as it is known. */
  get exceeded(): ExceededLimit | undefined {
    return this.#exceeded;
  }

  /** Kills everything in the control group, if there is one. */
  kill(): void {
    this.#group?.kill();
  }

  /** To be called when the process has closed. For descendants that are left the limits go on to hold. */
  release(): void {
    if (this.#group) this.#place?.removeWhenEmpty(this.#group);
    this.#watch?.leave();
  }

  #in(name: LimitName, enforcer: 'cgroup' | 'watch'): [LimitName, number][] {
    return this.enforcedBy[name] === enforcer ? [[name, this.#limits[name]!]] : [];
  }

  /** The kernel sends SIGXFSZ. A sandbox passes the end of its command on as an exit code. */
  #fileExceeded(status: ExitStatus): ExceededLimit | undefined {
    if (this.#limits.fileBytes == null) return undefined;
    const { SIGXFSZ } = constants.signals;
    const signal = 'signal' in status ? status.signal : this.#isLauncher ? status.code - 128 : 0;
    return signal === SIGXFSZ ? 'fileBytes' : undefined;
  }
}

const names = ['memoryBytes', 'cpus', 'pids', 'fileBytes'] as const satisfies readonly LimitName[];

const given = (limits: ResourceLimits): readonly LimitName[] => names.filter((name) => limits[name] != null);

const needsGroup = (limits: ResourceLimits): boolean => given(limits).some((name) => name !== 'fileBytes');

function createdIn(place: NonNullable<GroupPlace['place']>, limits: Pick<ResourceLimits, GroupLimit>): ControlGroup {
  try {
    return place.create(limits);
  } catch (error) {
    throw unenforceable(Object.keys(limits).join(', '), (error as Error).message);
  }
}

function unenforceable(limit: string, reason: string): ExecError {
  return new ExecError('invalidRequest', `the limit ${limit} cannot be enforced here: ${reason}`);
}
