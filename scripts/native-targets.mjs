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
  'base64',
  'base64-decode',
  'fs-answer',
  'fs-copy',
  'fs-crew',
  'fs-directory',
  'fs-engine',
  'fs-open',
  'fs-read',
  'fs-remove',
  'fs-stat',
  'fs-text',
  'fs-protect',
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
  'execute',
  'family',
  'fs-addon',
  'harden',
  'inherit',
  'input',
  'loop',
  'mask',
  'output',
  'peer-addon',
  'peer-descriptors',
  'peer-freeze',
  'peer-holders',
  'peer-process',
  'peer-reap',
  'peer-socket',
  'queue',
  'send',
  'spawn',
  'start-child',
  'sweep',
];
const denials = ['denials', 'denial-filter', 'denial-forecast', 'denial-subject', 'denial-supervisor'];
const json = ['bytes', 'json-read', 'json-write'];
const standIn = ['wrapper-forward', 'wrapper-frames', 'wrapper-complain', 'say', ...json];
const broker = [
  'broker-answers',
  'broker-children',
  'broker-command',
  'broker-control',
  'broker-escalation',
  'broker-caller',
  'broker-caller-output',
  'broker-kernel',
  'broker-redirect',
  'broker-main',
  'broker-output',
  'broker-passes',
  'broker-sessions',
  'broker-shell',
  'broker-start',
  'descendants',
  'exec-filter',
  'limits',
  'script',
  'strings',
  ...denials,
  ...json,
];

export const nativeSource = (name) => join(native, name);

/** The files to build; of their sets of flags the first that works counts, and for releases the one meant for them. */
export const targets = [
  { file: 'exec_native.node', parts: addon, flags: [['-shared', '-fPIC', '-pthread', '-I', napiHeaders]] },
  // Static where the C library can be: a third of the memory.
  { file: 'guardian', parts: ['guardian', 'family'], flags: [moving, still, ['-pie', '-fPIE']], release: released },
  { file: 'init', parts: ['init'], flags: [moving, still, ['-pie', '-fPIE']], release: released },
  // Static always: these run in views of the disk that have no C library.
  {
    file: 'sandbox-stage',
    parts: ['sandbox-stage', 'reaper', 'inner-listeners', 'say', 'bytes', ...denials],
    flags: fast,
    release: released,
  },
  { file: 'fs-helper', parts: ['fs-helper', ...filesystem], flags: fast, release: released },
  {
    file: 'execve-wrapper',
    parts: ['wrapper-main', 'wrapper-request', 'base64', 'limits', 'script', ...standIn],
    flags: fast,
    release: released,
  },
  { file: 'escalation-stub', parts: ['stub-main', ...standIn], flags: fast, release: released },
  { file: 'exec-broker', parts: broker, flags: [moving, still], release: released },
];

/** The paths of a target's sources. */
export const sourcesOf = ({ parts }) => parts.map((part) => nativeSource(`${part}.c`));

/** Everything a build depends on. */
export const dependencies = () => [self, ...readdirSync(native).map((name) => join(native, name))];
