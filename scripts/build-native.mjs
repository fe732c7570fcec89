// Builds the native addon and the programs beside it into build/native: node scripts/build-native.mjs
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dependencies, flags, musl, sourcesOf, targets } from './native-targets.mjs';
import { ensureInstalled } from './system-packages.mjs';

const self = fileURLToPath(import.meta.url);
const output = join(dirname(dirname(self)), 'build', 'native');

const outdated = targets.filter(({ file }) => newest([join(output, file)]) < newest([self, ...dependencies()]));
if (outdated.length > 0) {
  ensureCompiler();
  ensureMusl();
  mkdirSync(output, { recursive: true });
  for (const target of outdated) build(target);
}

/** Compiles with the first of the flag sets that works. */
function build(target) {
  const { file, flags: choices } = target;
  const finished = join(output, file);
  const partial = `${finished}.${process.pid}`;
  const files = sourcesOf(target);
  const works = choices.slice(0, -1).find((choice) => compile(choice, partial, files, 'ignore'));
  if (works === undefined && !compile(choices.at(-1), partial, files, 'inherit')) process.exit(1);
  renameSync(partial, finished); // a running server keeps the file it has loaded
}

function compile(choice, target, files, stdio) {
  return spawnSync('cc', [...flags, '-o', target, ...files, ...choice], { stdio }).status === 0;
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

/** Without it the programs are linked with the C library of the machine. */
function ensureMusl() {
  const purpose = 'sandboxed commands that start faster (by 0.4 ms on a virtual machine)';
  ensureInstalled({ purpose, packages: ['musl-dev'], isThere: () => existsSync(musl) });
}

/** Whether there is a compiler with the headers of the C library. */
function hasCompiler() {
  return spawnSync('cc', ['-E', '-include', 'stdlib.h', '-x', 'c', '/dev/null']).status === 0;
}
