// The Node releases, besides the one that runs the tests, on which the built server has to start: pinned packages of the npm
// registry, unpacked into .cache/nodes. Their binaries are for Linux with glibc.
import { fileURLToPath } from 'node:url';
import { installIntoCache } from './npm-cache.mjs';

export const otherNodes = ['22.23.3', '24.21.0'];

const home = fileURLToPath(new URL('../.cache/nodes/', import.meta.url));

/** The path of the program of a release, whether it has been fetched or not. */
export const nodeProgram = (version) => `${home}${version}/node_modules/${packageName()}/bin/node`;

/** Fetches the releases that are missing. */
export async function fetchOtherNodes() {
  for (const version of otherNodes) await installIntoCache(`${home}${version}`, `${packageName()}@${version}`);
}

const packageName = () => `node-linux-${process.arch}`;
