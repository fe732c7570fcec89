import { nativeFile } from '../os/index.ts';
import type { MountPlan } from './mount-plan.ts';
import { Refusal } from './refusal.ts';

/** Where a view has the program that is its first process, and the arguments that put it there. */
export interface StagePlace {
  readonly path: string;
  readonly args: readonly string[];
}

/**
 * The program lies on a read-only mount of its own: nothing can be written, or changed about the file, through
 * /proc/1/exe. Views have a /dev of their own, unless a policy names it; then a directory of procfs that every kernel has
 * is covered.
 */
export function stagePlace({ args }: Pick<MountPlan, 'args'>, proc: boolean): StagePlace {
  if (!args.some((arg, index) => arg === '/dev' && args[index - 1] !== '--dev')) return placed(USUAL_PLACE);
  if (!proc) throw new Refusal('its policy names /dev, and no procfs can be mounted here');
  return placed('/proc/driver/.exec-server', ['--perms', '555', '--tmpfs', '/proc/driver']);
}

/** Where it lies unless a policy names /dev. */
export const USUAL_PLACE = '/dev/.exec-server';

function placed(path: string, before: readonly string[] = []): StagePlace {
  return { path, args: [...before, '--ro-bind', nativeFile('sandbox-stage'), path] };
}
