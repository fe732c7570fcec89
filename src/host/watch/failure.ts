import { readFileSync } from 'node:fs';
import { ExecError } from '../../protocol/index.ts';
import { osError } from '../engine/index.ts';
import { DIRECTORIES_PER_WATCH } from './limits.ts';
import type { WatchFailure } from './watch-process.ts';

/** The error for a path that cannot be watched, or not any more. */
export function watchError(failure: WatchFailure): ExecError {
  if ('errno' in failure) return osError(failure.errno);
  if (failure.limit === 'directories') {
    const text = `more than ${DIRECTORIES_PER_WATCH} directories below the path: watch a smaller tree, or without \`recursive\``;
    return new ExecError('invalidRequest', text);
  }
  const setting = settings[failure.limit];
  const text = `the kernel's limit of inotify ${failure.limit} is reached: raise fs.inotify.${setting}${present(setting)} by sysctl`;
  return new ExecError('internal', text, { details: { errno: failure.limit === 'watches' ? 'ENOSPC' : 'EMFILE' } });
}

const settings = { instances: 'max_user_instances', watches: 'max_user_watches' } as const;

function present(setting: string): string {
  try {
    return ` (now ${readFileSync(`/proc/sys/fs/inotify/${setting}`, 'utf8').trim()})`;
  } catch {
    return ''; // no procfs
  }
}
