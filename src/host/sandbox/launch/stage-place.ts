import { nativeFile } from '../../os/index.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import type { MountPlan } from '../view/plan.ts';

/** Where a view has the program that is its first process, and the arguments that put it there. */
export interface StagePlace {
  readonly path: string;
  readonly args: readonly string[];
}

/**
 * The program lies on a read-only mount: nothing can be written, or changed about the file, through /proc/1/exe. That is a mount
 * of its own unless the view shows the program read-only where it lies anyway: a link to it takes 0.15 ms less. Views have a /dev
 * of their own, unless a policy names it; then a directory of procfs that every kernel has is covered.
 */
export function stagePlace({ args, visibleProgram }: View, proc: boolean): StagePlace {
  const place = placeOf(nativeFile('sandbox-stage'), '.exec-server', args, proc);
  if (visibleProgram === undefined || place.path !== USUAL_PLACE) return place;
  return { path: place.path, args: ['--symlink', visibleProgram, place.path] };
}

type View = Pick<MountPlan, 'args'> & Partial<Pick<MountPlan, 'visibleProgram'>>;

/** The same for a helper: its directory on the host does not show in the view. */
export function helperPlace(program: string, { args }: Pick<MountPlan, 'args'>, proc: boolean): StagePlace {
  return placeOf(program, HELPER, args, proc);
}

function placeOf(file: string, name: string, args: readonly string[], proc: boolean): StagePlace {
  const isOwnDevices = (index: number) => {
    const [permissions, option] = args.slice(index - 2, index);
    return option === '--dev' || (option === '--tmpfs' && permissions === '555');
  };
  if (!args.some((arg, index) => arg === '/dev' && !isOwnDevices(index))) return placed(file, `/dev/${name}`);
  if (!proc) throw new UnenforceablePolicy('its policy names /dev, and no procfs can be mounted here');
  return placed(file, `/proc/driver/${name}`, ['--perms', '555', '--tmpfs', '/proc/driver']);
}

const HELPER = '.exec-server/fs-helper';

/** Where a helper lies unless a policy names /dev. */
export const USUAL_HELPER_PLACE = `/dev/${HELPER}`;

/** Where it lies unless a policy names /dev. */
export const USUAL_PLACE = '/dev/.exec-server';

function placed(file: string, path: string, before: readonly string[] = []): StagePlace {
  return { path, args: [...before, '--ro-bind', file, path] };
}
