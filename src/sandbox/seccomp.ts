import { constants } from 'node:os';
import {
  ARCHITECTURE,
  and,
  argument,
  assemble,
  finish,
  type Instruction,
  load,
  SYSCALL_NUMBER,
  unlessEqual,
  whenAnyBit,
  whenAtLeast,
  whenEqual,
} from './bpf.ts';
import { type Machine, machines, type SyscallName } from './syscalls.ts';

/**
 * isolated: no network at all. proxy: internet sockets in a namespace that only has a loopback. base: the host's
 * network, without the calls that reach into other processes.
 */
export type FilterMode = 'isolated' | 'proxy' | 'base';

export interface FilterOptions {
  /** Whether a command may make user namespaces of its own, as browsers and container tools do. */
  readonly nestedNamespaces: boolean;
}

const { EPERM, ENOSYS, ENOTSOCK } = constants.errno;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const failWith = (errno: number): number => 0x0005_0000 | errno;

const refuse = finish(failWith(EPERM));

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_VSOCK = 40;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
const SOCKET_TYPE = 0xf;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const CLONE_NEWUSER = 0x1000_0000;

type Rule = readonly [SyscallName, readonly Instruction[]];

const refused = (...names: SyscallName[]): Rule[] => names.map((name) => [name, [refuse]]);

/** A datagram or raw socket of the Unix family reaches any other by address, without connecting. */
const unixStreamsOnly: readonly Instruction[] = [
  load(argument(0)),
  ...unlessEqual(AF_UNIX, [refuse]),
  load(argument(1)),
  and(SOCKET_TYPE),
  ...whenEqual(SOCK_STREAM, [finish(ALLOW)]),
  ...whenEqual(SOCK_SEQPACKET, [finish(ALLOW)]),
  refuse,
];

const common: readonly Rule[] = [
  ...refused('ptrace', 'process_vm_readv', 'process_vm_writev'),
  ...refused('io_uring_setup', 'io_uring_enter', 'io_uring_register'),
  ...refused('setns', 'add_key', 'request_key', 'keyctl', 'userfaultfd', 'perf_event_open', 'bpf'),
  ['ioctl', [load(argument(1)), ...whenEqual(TIOCSTI, [refuse]), ...whenEqual(TIOCLINUX, [refuse]), finish(ALLOW)]],
];

/** The flags of clone3 are out of a filter's sight; libraries fall back to clone when it is missing. */
const noUserNamespaces: readonly Rule[] = [
  ...(['unshare', 'clone'] as const).map(
    (name): Rule => [name, [load(argument(0)), ...whenAnyBit(CLONE_NEWUSER, [refuse]), finish(ALLOW)]],
  ),
  ['clone3', [finish(failWith(ENOSYS))]],
];

const byMode: Readonly<Record<FilterMode, readonly Rule[]>> = {
  isolated: [
    ...refused('connect', 'accept', 'accept4', 'bind', 'listen', 'shutdown', 'sendto', 'sendmmsg', 'recvmmsg'),
    ...refused('getsockopt', 'setsockopt', 'getsockname'),
    // bash asks this of its stdin, and takes every other error for a login over the network.
    ['getpeername', [finish(failWith(ENOTSOCK))]],
    ['socket', unixStreamsOnly],
    ['socketpair', unixStreamsOnly],
  ],
  proxy: [
    [
      'socket',
      [load(argument(0)), ...whenEqual(AF_INET, [finish(ALLOW)]), ...whenEqual(AF_INET6, [finish(ALLOW)]), refuse],
    ],
    ['socketpair', unixStreamsOnly],
  ],
  base: [['socket', [load(argument(0)), ...whenEqual(AF_VSOCK, [refuse]), finish(ALLOW)]]],
};

const programs = new Map<string, Buffer>();

/** The program for a mode on this machine, or nothing when the machine is unknown. */
export function seccompProgram(mode: FilterMode, options: FilterOptions, arch = process.arch): Buffer | undefined {
  const machine = machines[arch];
  if (machine === undefined) return undefined;
  const key = `${arch} ${mode} ${options.nestedNamespaces}`;
  const program = programs.get(key) ?? assemble(compile(machine, mode, options));
  programs.set(key, program);
  return program;
}

function compile(machine: Machine, mode: FilterMode, { nestedNamespaces }: FilterOptions): Instruction[] {
  const rules = [...common, ...(nestedNamespaces ? [] : noUserNamespaces), ...byMode[mode]];
  return [
    load(ARCHITECTURE),
    ...unlessEqual(machine.architecture, [finish(KILL_PROCESS)]),
    load(SYSCALL_NUMBER),
    ...(machine.foreignFrom === undefined ? [] : whenAtLeast(machine.foreignFrom, [finish(failWith(ENOSYS))])),
    ...rules.flatMap(([name, body]) => whenEqual(machine.numbers[name], body)),
    finish(ALLOW),
  ];
}
