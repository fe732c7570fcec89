// Builds the native addon and the guardian into build/native: node scripts/build-native.mjs
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(root, 'native');
const output = join(root, 'build', 'native');
const flags = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Werror', '-fvisibility=hidden'];
const install = 'apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev';

const addon = [
  'addon',
  'base64',
  'children',
  'delivery',
  'family',
  'input',
  'loop',
  'mask',
  'output',
  'queue',
  'spawn',
  'start-child',
  'sweep',
];
const targets = [
  { file: 'exec_native.node', parts: addon, flags: ['-shared', '-fPIC', '-pthread', '-I', napiHeaders()] },
  { file: 'guardian', parts: ['guardian', 'family'], flags: ['-static'] },
];

const outdated = targets.filter(({ file }) => newest([join(output, file)]) < newest(sources()));
if (outdated.length > 0) {
  ensureCompiler();
  mkdirSync(output, { recursive: true });
  for (const target of outdated) build(target);
}

function build({ file, parts, flags: own }) {
  const finished = join(output, file);
  const partial = `${finished}.${process.pid}`;
  compile([...flags, ...own, '-o', partial, ...parts.map((part) => join(native, `${part}.c`))]);
  renameSync(partial, finished); // a running server keeps the file it has loaded
}

function compile(args) {
  execFileSync('cc', args, { stdio: 'inherit' });
}

function napiHeaders() {
  return createRequire(import.meta.url)('node-api-headers').include_dir;
}

function sources() {
  return [fileURLToPath(import.meta.url), ...readdirSync(native).map((name) => join(native, name))];
}

/** When the newest of the files was written; the beginning of time when one is missing. */
function newest(files) {
  const times = files.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}

function ensureCompiler() {
  if (hasCompiler()) return;
  const canInstall = process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0;
  if (canInstall) {
    console.error('No C compiler found: installing gcc and libc6-dev.');
    spawnSync('sh', ['-c', install], {
      stdio: ['ignore', 2, 2],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (hasCompiler()) return;
  }
  console.error(`A C compiler is needed to build the native addon. Run as root: ${install}`);
  process.exit(1);
}

/** Whether there is a compiler with the headers of the C library. */
function hasCompiler() {
  return spawnSync('cc', ['-E', '-include', 'stdlib.h', '-x', 'c', '/dev/null']).status === 0;
}
