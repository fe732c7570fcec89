import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { flags, sourcesOf, targets } from './native-targets.mjs';
import { fetchZig, zigCompile } from './zig-compiler.mjs';

const processors = { x64: 'x86_64', arm64: 'aarch64' };

// The oldest glibc that Node 20 runs on.
const libraries = { glibc: 'gnu.2.28', musl: 'musl' };

const releaseFlags = [
  ...flags,
  '-Wno-sign-compare', // CMSG_NXTHDR of musl
  '-s',
];

/** Builds the native parts for every platform of a release into `vendor/PLATFORM/native`. */
export async function buildForAllPlatforms(vendor) {
  await fetchZig();
  for (const [arch, processor] of Object.entries(processors)) {
    const folders = Object.fromEntries(
      Object.keys(libraries).map((libc) => [libc, join(vendor, `linux-${arch}-${libc}`, 'native')]),
    );
    for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
    for (const target of targets) {
      if (isStatic(target)) buildStatic(target, processor, Object.values(folders));
      else for (const libc of Object.keys(libraries)) build(target, processor, libc, folders[libc]);
    }
  }
}

const isStatic = ({ flags: [first], release = first }) => release.includes('-static');

/** A static program runs anywhere; glibc is not made to be linked into one. */
function buildStatic(target, processor, folders) {
  const [first, ...others] = folders;
  build(target, processor, 'musl', first);
  for (const other of others) copyFileSync(join(first, target.file), join(other, target.file));
}

function build(target, processor, libc, folder) {
  const triple = `${processor}-linux-${libraries[libc]}`;
  console.error(`Building ${target.file} for ${triple}.`);
  const { release = target.flags[0] } = target;
  zigCompile(triple, [...releaseFlags, ...release, '-o', join(folder, target.file), ...sourcesOf(target)]);
}
