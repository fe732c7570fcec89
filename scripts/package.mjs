// Makes the npm package, which needs no compiler where it is installed: node scripts/package.mjs --help
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { buildForAllPlatforms } from './zig-native.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const help = `Makes the npm package with the native parts for Linux on x64 and arm64, with glibc and musl.

Usage: npm run package -- [options]

  --own                  take the native parts as built for this machine, and for it alone: quick, for trying out
  --bash PLATFORM=FILE   a patched Bash for another platform, such as linux-arm64-glibc; repeat for more. That
                         for this machine is built here.
  --output DIR           where to put the package (default: build/package)
  --help                 show this text

Prints the path of the package.
`;

const bashNotice = `GNU Bash, changed by patches/bash-exec-wrapper.patch of this package. It is free software under the GNU General Public
License, version 3 or later (https://www.gnu.org/licenses/gpl-3.0.html), and comes without any warranty. The source it was
built from is the Debian package "bash", which is attached to the release of exec-server with the same version.
`;

const { values } = parseArgs({
  options: {
    own: { type: 'boolean' },
    bash: { type: 'string', multiple: true, default: [] },
    output: { type: 'string', default: join(root, 'build', 'package') },
    help: { type: 'boolean', short: 'h' },
  },
});

if (values.help) process.stdout.write(help);
else console.log(await makePackage());

async function makePackage() {
  const output = resolve(values.output);
  const stage = join(output, 'stage');
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  if (!values.own) runScript('build.mjs');
  await addVendored(join(stage, 'vendor'));
  const bench = join(root, 'dist', 'bench');
  cpSync(join(root, 'dist'), join(stage, 'dist'), { recursive: true, filter: (path) => path !== bench });
  for (const part of ['deploy', 'docs', 'patches', 'README.md', 'CHANGELOG.md', 'LICENSE']) {
    cpSync(join(root, part), join(stage, part), { recursive: true });
  }
  const contents = manifest();
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(contents, null, 2)}\n`);
  const promised = [...Object.values(contents.bin), ...Object.values(contents.exports).flatMap(Object.values)];
  const missing = promised.find((file) => !existsSync(join(stage, file)));
  if (missing !== undefined) throw new Error(`package.json promises ${missing}, which has not been built`);
  return join(output, pack(stage, output));
}

/** Nothing is built where it is installed, and everything in the folder belongs to it. */
function manifest() {
  const { scripts, devDependencies, files, ...rest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return rest;
}

async function addVendored(vendor) {
  const own = await ownPlatform();
  if (values.own) {
    cpSync(join(root, 'build', 'native'), join(vendor, own, 'native'), { recursive: true });
  } else {
    runScript('build-bash.mjs');
    await buildForAllPlatforms(vendor);
  }
  const bash = join(root, 'build', 'bash', 'bash');
  if (existsSync(bash)) addBash(vendor, own, bash);
  for (const given of values.bash) {
    const [, platform, file] = /^(linux-\w+-(?:glibc|musl))=(.+)$/.exec(given) ?? [];
    if (!platform) throw new Error(`--bash wants PLATFORM=FILE, not ${given}`);
    addBash(vendor, platform, file);
  }
}

function addBash(vendor, platform, file) {
  const folder = join(vendor, platform, 'bash');
  cpSync(file, join(folder, 'bash'));
  writeFileSync(join(folder, 'NOTICE'), bashNotice);
}

/** As the program itself will name it. */
async function ownPlatform() {
  const { platformName } = await import(pathToFileURL(join(root, 'dist', 'host', 'os', 'platform.js')).href);
  return platformName();
}

function runScript(name) {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', name)], { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(1);
}

/** The name of the package. */
function pack(stage, output) {
  const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', output];
  const { status, stdout } = spawnSync('npm', args, { cwd: stage, stdio: ['ignore', 'pipe', 2], encoding: 'utf8' });
  if (status !== 0) process.exit(1);
  return JSON.parse(stdout)[0].filename;
}
