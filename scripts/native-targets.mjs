// What the native parts consist of, whichever compiler builds them.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const self = fileURLToPath(import.meta.url);
const native = join(dirname(dirname(self)), 'native');
const napiHeaders = createRequire(import.meta.url)('node-api-headers').include_dir;

export const flags = [
  ...['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Werror', '-fvisibility=hidden'],
  ...['-fstack-protector-strong', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2'],
  ...['-Wl,-z,relro', '-Wl,-z,now', '-Wl,-z,noexecstack'],
];

// Static programs at addresses that change, where the compiler can.
const still = ['-static'];
const moving = ['-static-pie', '-fPIE'];
const released = ['-static', '-fPIE', '-pie']; // the Zig compiler makes no use of -static-pie, and links musl

const muslTriple = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-musl`;
const muslFile = (name) => `/usr/lib/${muslTriple}/${name}`;
/** The C library of the package `musl-dev`. */
export const musl = muslFile('libc.a');
// What stands before every command is to start fast: glibc asks the processor for its features first, musl does not.
const withMusl = [
  ...[...moving, '-isystem', `/usr/include/${muslTriple}`, '-nostdlib'],
  ...[muslFile('rcrt1.o'), muslFile('crti.o'), muslFile('crtn.o'), musl, '-lgcc', musl],
];
const fast = [withMusl, moving, still];

const filesystem = [
  ...['shared/base64', 'shared/base64-decode'],
  ...filesIn('fs').filter((name) => name !== 'fs/helper'), // which is a program
  ...filesIn('search'),
];
const addon = [
  ...filesystem,
  'addon/addon',
  'addon/children',
  'addon/connect',
  'addon/connection',
  'addon/decode',
  'addon/delivery',
  'addon/descriptors',
  'addon/execute',
  'family/family',
  'family/members',
  'addon/fs',
  'addon/harden',
  'addon/inherit',
  'addon/input',
  'addon/loop',
  'addon/mask',
  'addon/network',
  'addon/notify',
  'addon/output',
  'addon/restrict',
  'peers/requests',
  'peers/descriptors',
  'peers/freeze',
  'peers/holders',
  'peers/process',
  'peers/reap',
  'peers/socket',
  'addon/queue',
  'addon/send',
  'addon/spawn',
  'addon/start-child',
  'family/sweep',
];
const denials = [
  'shared/send-descriptors',
  'stage/denials',
  'stage/denial-filter',
  'stage/denial-forecast',
  'stage/denial-subject',
  'stage/denial-supervisor',
];
const json = ['shared/bytes', 'shared/json-read', 'shared/json-write'];
const standIn = [
  ...['wrapper/forward', 'wrapper/frames', 'wrapper/complain'],
  ...['shared/print-stderr', 'shared/send-descriptors', ...json],
];
const broker = [
  'broker/answers',
  'broker/children',
  'broker/command',
  'broker/control',
  'broker/denied-files',
  'broker/escalation',
  'broker/handshake',
  'broker/caller',
  'broker/caller-memory',
  'broker/caller-output',
  'broker/kernel',
  'broker/redirect',
  'broker/main',
  'broker/output',
  'broker/allowed-paths',
  'broker/sessions',
  'broker/shell',
  'broker/start',
  'broker/verdicts',
  'family/descendants',
  'broker/exec-filter',
  'shared/limits',
  'shared/script',
  'broker/strings',
  ...denials,
  ...json,
];

/** The C files of a folder, without their endings. */
function filesIn(folder) {
  const files = readdirSync(join(native, folder)).filter((name) => name.endsWith('.c'));
  return files.sort().map((name) => `${folder}/${name.slice(0, -'.c'.length)}`);
}

export const nativeSource = (name) => join(native, name);

/** The files to build; of their sets of flags the first that works counts, and for releases the one meant for them. */
export const targets = [
  { file: 'exec_native.node', parts: addon, flags: [['-shared', '-fPIC', '-pthread', '-I', napiHeaders]] },
  // Static where the C library can be: a third of the memory.
  {
    file: 'guardian',
    parts: ['family/guardian', 'family/family'],
    flags: [moving, still, ['-pie', '-fPIE']],
    release: released,
  },
  { file: 'init', parts: ['family/init'], flags: [moving, still, ['-pie', '-fPIE']], release: released },
  // Static always: these run in views of the disk that have no C library.
  {
    file: 'sandbox-stage',
    parts: [
      'stage/main',
      'stage/reaper',
      'stage/inner-listeners',
      'stage/network',
      'shared/print-stderr',
      'shared/bytes',
      ...denials,
    ],
    flags: fast,
    release: released,
  },
  { file: 'fs-helper', parts: ['fs/helper', ...filesystem], flags: fast, release: released },
  {
    file: 'fs-watch',
    parts: [...filesIn('watch'), ...['fs/answer', 'fs/text', 'shared/base64']],
    flags: fast,
    release: released,
  },
  {
    file: 'execve-wrapper',
    parts: ['wrapper/main', 'wrapper/request', 'shared/base64', 'shared/limits', 'shared/script', ...standIn],
    flags: fast,
    release: released,
  },
  { file: 'escalation-stub', parts: ['wrapper/stub', ...standIn], flags: fast, release: released },
  { file: 'exec-broker', parts: broker, flags: [moving, still], release: released },
];

/** The paths of a target's sources. */
export const sourcesOf = ({ parts }) => parts.map((part) => nativeSource(`${part}.c`));

/** Everything a build depends on. */
export const dependencies = () => [self, ...readdirSync(native, { recursive: true }).map((name) => join(native, name))];
