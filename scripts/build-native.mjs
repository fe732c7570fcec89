// Builds the native addon and the guardian into build/native: node scripts/build-native.mjs
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './system-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(root, 'native');
const output = join(root, 'build', 'native');
const flags = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Werror', '-fvisibility=hidden'];

const filesystem = [
  'base64',
  'base64-decode',
  'fs-answer',
  'fs-copy',
  'fs-directory',
  'fs-engine',
  'fs-open',
  'fs-read',
  'fs-remove',
  'fs-stat',
  'fs-text',
  'fs-walk',
  'fs-write',
];
const addon = [
  ...filesystem,
  'addon',
  'children',
  'decode',
  'delivery',
  'descriptors',
  'family',
  'fs-addon',
  'harden',
  'inherit',
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
  { file: 'exec_native.node', parts: addon, flags: [['-shared', '-fPIC', '-pthread', '-I', napiHeaders()]] },
  // Static where the C library can be: a third of the memory.
  { file: 'guardian', parts: ['guardian', 'family'], flags: [['-static'], []] },
  // Static always: it runs in views of the disk that have no C library.
  { file: 'sandbox-stage', parts: ['sandbox-stage', 'inner-listeners'], flags: [['-static']] },
  { file: 'fs-helper', parts: ['fs-helper', ...filesystem], flags: [['-static']] },
];

const outdated = targets.filter(({ file }) => newest([join(output, file)]) < newest(sources()));
if (outdated.length > 0) {
  ensureCompiler();
  mkdirSync(output, { recursive: true });
  for (const target of outdated) build(target);
}

/** Compiles with the first of the flag sets that works. */
function build({ file, parts, flags: choices }) {
  const finished = join(output, file);
  const partial = `${finished}.${process.pid}`;
  const files = parts.map((part) => join(native, `${part}.c`));
  const works = choices.slice(0, -1).find((choice) => compile(choice, partial, files, 'ignore'));
  if (works === undefined && !compile(choices.at(-1), partial, files, 'inherit')) process.exit(1);
  renameSync(partial, finished); // a running server keeps the file it has loaded
}

function compile(choice, target, files, stdio) {
  return spawnSync('cc', [...flags, ...choice, '-o', target, ...files], { stdio }).status === 0;
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
  const compiler = { purpose: 'the native addon', packages: ['gcc', 'libc6-dev'], isThere: hasCompiler };
  if (!ensureInstalled(compiler)) process.exit(1);
}

/** Whether there is a compiler with the headers of the C library. */
function hasCompiler() {
  return spawnSync('cc', ['-E', '-include', 'stdlib.h', '-x', 'c', '/dev/null']).status === 0;
}
