import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

// $1 is the folder, the rest are the packages. Only a complete installation gets the final name, so that one which is
// killed half-way leaves nothing that looks usable.
const installOnce = `
  test -e "$1" && exit
  home=$1; shift; rm -rf "$home.partial"
  npm install --no-save --no-audit --no-fund --ignore-scripts --loglevel=error --prefix "$home.partial" "$@" &&
  mv "$home.partial" "$home"`;

/**
 * Installs npm packages with pinned versions into a folder of `.cache`, unless the folder is there. When several processes
 * ask at once, the kernel's file lock lets one install and the others wait.
 */
export async function installIntoCache(folder, ...packages) {
  if (existsSync(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  await promisify(execFile)('flock', [`${folder}.lock`, 'sh', '-c', installOnce, 'install', folder, ...packages]);
}
