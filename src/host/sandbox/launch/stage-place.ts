import { nativeFile } from '../../os/index.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import type { MountPlan } from '../view/plan.ts';

/** The path of a view's first program, and the arguments of bubblewrap that mount it there. */
export interface StagePlace {
  readonly path: string;
  readonly args: readonly string[];
}

/**
 * The program lies on a read-only mount, so that the file cannot be changed through /proc/1/exe: a mount of its own, or a link to
 * the program's path on the host if the view shows it read-only, which takes 0.15 ms less. The path is in /dev, which views have of
 * their own; if a policy names /dev, it is in a directory of procfs that every kernel has.
 */
export function stagePlace({ args, visibleProgram }: View, proc: boolean): StagePlace {
  const place = placeOf(nativeFile('sandbox-stage'), '.exec-server', args, proc);
  if (visibleProgram === undefined || place.path !== USUAL_PLACE) return place;
  return { path: place.path, args: ['--symlink', visibleProgram, place.path] };
}

type View = Pick<MountPlan, 'args'> & Partial<Pick<MountPlan, 'visibleProgram'>>;

/** The place of a helper, whose directory on the host is not in the view. */
export function helperPlace(program: string, { args }: Pick<MountPlan, 'args'>, proc: boolean): StagePlace {
  return placeOf(program, HELPER, args, proc);
}

function placeOf(file: string, name: string, args: readonly string[], proc: boolean): StagePlace {
  const isOwnDevices = (index: number) => {
    const [permissions, option] = args.slice(index - 2, index);
    return option === '--dev' || (option === '--tmpfs' && permissions === '555');
  };
  if (!args.some((arg, index) => arg === '/dev' && !isOwnDevices(index))) return mountedAt(file, `/dev/${name}`);
  if (!proc)
    throw new UnenforceablePolicy(
      'its policy names /dev, which needs a procfs of its own, and none can be mounted here',
    );
  return mountedAt(file, `/proc/driver/${name}`, ['--perms', '555', '--tmpfs', '/proc/driver']);
}

const HELPER = '.exec-server/fs-helper';

/** The path of a helper unless a policy names /dev. */
export const USUAL_HELPER_PLACE = `/dev/${HELPER}`;

/** The path of the stage unless a policy names /dev. */
export const USUAL_PLACE = '/dev/.exec-server';

function mountedAt(file: string, path: string, before: readonly string[] = []): StagePlace {
  return { path, args: [...before, '--ro-bind', file, path] };
}
