// The Node releases, besides the one that runs the tests, on which the built server has to start: pinned packages of the npm
// registry, unpacked into .cache/nodes. Their binaries are for Linux with glibc.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const otherNodes = ['22.23.3', '24.21.0'];

const home = fileURLToPath(new URL('../.cache/nodes/', import.meta.url));

/** The program of one of them, whether it has been fetched or not. */
export const nodeProgram = (version) => `${home}${version}/node_modules/${packageName()}/bin/node`;

/** Fetches what is missing. A fetch that is interrupted leaves nothing that looks complete. */
export function fetchOtherNodes() {
  mkdirSync(home, { recursive: true });
  for (const version of otherNodes) {
    if (existsSync(nodeProgram(version))) continue;
    const partial = `${home}${version}.${process.pid}`;
    const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    const install = ['install', ...options, '--prefix', partial, `${packageName()}@${version}`];
    execFileSync('npm', install, { stdio: ['ignore', 2, 2] });
    rmSync(`${home}${version}`, { recursive: true, force: true });
    renameSync(partial, `${home}${version}`);
  }
}

const packageName = () => `node-linux-${process.arch}`;
