// Builds the patched Bash into build/bash from the distribution's source package: node scripts/build-bash.mjs
// The machine's own package configuration is read and never changed: lists and downloads live in build/bash.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyPatch } from './apply-patch.mjs';
import { sourceEntries } from './apt-sources.mjs';
import { ensureInstalled } from './system-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = join(root, 'build', 'bash');
const finished = join(output, 'bash');
const stampFile = join(output, 'stamp');
const patch = readFileSync(join(root, 'patches', 'bash-exec-wrapper.patch'), 'utf8');

// No malloc of its own, no translations, its own terminal capabilities: nothing is needed at run time but the C library.
const configuration = ['--without-bash-malloc', '--disable-nls', 'bash_cv_termcap_lib=gnutermcap'];

const stamp = createHash('sha256')
  .update(JSON.stringify([patch, configuration]))
  .digest('hex');
if (!existsSync(finished) || !existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) main();

function main() {
  const tools = { purpose: 'the patched Bash', packages: ['gcc', 'libc6-dev', 'make'], isThere: hasTools };
  if (!ensureInstalled(tools)) process.exit(1);
  const work = join(output, `work-${process.pid}`);
  mkdirSync(work, { recursive: true });
  try {
    const tree = unpack(fetchSource(work), work);
    applyPatch(tree, patch);
    compile(tree);
    renameSync(join(tree, 'bash'), finished); // a running shell keeps the file it was started from
    writeFileSync(stampFile, stamp);
  } catch (error) {
    console.error(`The patched Bash cannot be built: ${error.message}`);
    process.exitCode = 1;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function hasTools() {
  const compiles = spawnSync('cc', ['-E', '-include', 'stdlib.h', '-x', 'c', '/dev/null']).status === 0;
  return compiles && spawnSync('make', ['--version']).status === 0;
}

/** Downloads the source package with the first configured archive that has it; apt checks signatures and sums. */
function fetchSource(work) {
  const entries = sourceEntries();
  const failures = [];
  for (const [index, { name, text }] of entries.entries()) {
    const folder = join(work, `archive-${index}`);
    for (const part of ['parts', 'lists/partial', 'cache/archives/partial', 'source']) {
      mkdirSync(join(folder, part), { recursive: true });
    }
    writeFileSync(join(folder, 'parts', name), text);
    const failure = apt(folder, ['update']) ?? apt(folder, ['source', '--download-only', 'bash']);
    const tarball = readdirSync(join(folder, 'source')).find((file) => /^bash_.*\.orig\.tar\.\w+$/.test(file));
    if (failure === undefined && tarball !== undefined) return join(folder, 'source', tarball);
    failures.push(failure ?? 'no source archive in the package');
  }
  const reason = entries.length === 0 ? 'apt has no archives configured' : failures[0];
  throw new Error(`its source package could not be fetched with apt-get source bash: ${reason}`);
}

/** What went wrong, or nothing. */
function apt(folder, command) {
  const settings = {
    'Dir::Etc::SourceList': '/dev/null',
    'Dir::Etc::SourceParts': join(folder, 'parts'),
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Sandbox::User': 'root', // the user apt changes to cannot write here
    'APT::Update::Error-Mode': 'any',
    'Acquire::Languages': 'none',
    'Debug::NoLocking': '1',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const { status, error, stderr } = spawnSync('apt-get', ['-q', ...options, ...command], {
    cwd: join(folder, 'source'),
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (error !== undefined) return error.message;
  return status === 0 ? undefined : (stderr.split('\n').find((line) => line.startsWith('E:')) ?? `status ${status}`);
}

function unpack(tarball, work) {
  const tree = join(work, 'tree');
  mkdirSync(tree);
  run('tar', ['-xf', tarball, '--strip-components=1', '-C', tree], work);
  return tree;
}

function compile(tree) {
  console.error('Building the patched Bash; this takes a minute or two.');
  run('sh', ['./configure', ...configuration], tree);
  run('make', [`-j${Math.min(availableParallelism(), 8)}`, 'bash'], tree);
  run('strip', ['bash'], tree);
}

function run(program, args, cwd) {
  const { status, error, stderr } = spawnSync(program, args, {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} failed:\n${stderr.split('\n').slice(-20).join('\n')}`);
}
