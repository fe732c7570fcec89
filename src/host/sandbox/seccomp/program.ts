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
import { type Machine, machines, type OldSyscallName, type SyscallName } from './syscalls.ts';

/**
 * isolated: no network. proxy: internet sockets in a namespace that only has a loopback. loopback: the same, and questions to the
 * kernel about that network. base: the host's network. All refuse the calls that reach into other processes.
 */
export type FilterMode = 'isolated' | 'proxy' | 'loopback' | 'base';

export interface FilterOptions {
  /** Whether a command may make user namespaces of its own, as browsers and container tools do. */
  readonly nestedNamespaces: boolean;
  /** The calls that a supervisor is asked about; none unless given. */
  readonly watch?: WatchedCalls | undefined;
}

/** The calls that a filter asks the supervisor about (native/stage/denials.h), besides those that it refuses. */
export interface WatchedCalls {
  /** Calls that name a file to change. */
  readonly files: boolean;
  readonly execs: boolean;
}

const { EPERM, ENOSYS, ENOTSOCK } = constants.errno;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const ASK = 0x7fc0_0000;
const failWith = (errno: number): number => 0x0005_0000 | errno;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
const AF_VSOCK = 40;
const AF_SMC = 43;
const IPPROTO_SMC = 256;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
const SOCKET_TYPE = 0xf;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const CLONE_NEWUSER = 0x1000_0000;
/** O_WRONLY, O_RDWR, O_CREAT and O_TRUNC. */
const CHANGES_FILE = 0x1 | 0x2 | 0x40 | 0x200;

type SyscallRule = readonly [SyscallName | OldSyscallName, readonly Instruction[]];

type Refused = (...names: SyscallName[]) => SyscallRule[];

const refusedBy = (instruction: Instruction): Refused => {
  return (...names) => names.map((name) => [name, [instruction]]);
};

/** Refused without asking the supervisor: programs try these, and go on without them. */
const refusedQuietly = refusedBy(finish(failWith(EPERM)));

/** A datagram or raw socket of the Unix family reaches any other by address, without connecting. */
const unixStreamsOnly = (refuse: Instruction): readonly Instruction[] => [
  load(argument(0)),
  ...unlessEqual(AF_UNIX, [refuse]),
  load(argument(1)),
  and(SOCKET_TYPE),
  ...whenEqual(SOCK_STREAM, [finish(ALLOW)]),
  ...whenEqual(SOCK_SEQPACKET, [finish(ALLOW)]),
  refuse,
];

const common = (refuse: Instruction): readonly SyscallRule[] => [
  ...refusedBy(refuse)('ptrace', 'process_vm_readv', 'process_vm_writev'),
  ...refusedQuietly('io_uring_setup', 'io_uring_enter', 'io_uring_register'),
  ...refusedBy(refuse)('setns', 'add_key', 'request_key', 'keyctl', 'userfaultfd', 'perf_event_open', 'bpf'),
  ['ioctl', [load(argument(1)), ...whenEqual(TIOCSTI, [refuse]), ...whenEqual(TIOCLINUX, [refuse]), finish(ALLOW)]],
];

/** A filter cannot read the flags of clone3; libraries fall back to clone when it is missing. */
const noUserNamespaces = (refuse: Instruction): readonly SyscallRule[] => [
  ...(['unshare', 'clone'] as const).map(
    (name): SyscallRule => [name, [load(argument(0)), ...whenAnyBit(CLONE_NEWUSER, [refuse]), finish(ALLOW)]],
  ),
  ['clone3', [finish(failWith(ENOSYS))]],
];

const byMode: Readonly<Record<FilterMode, (refuse: Instruction) => readonly SyscallRule[]>> = {
  isolated: (refuse) => [
    ...refusedBy(refuse)('connect', 'bind', 'sendto', 'sendmmsg'),
    ...refusedQuietly('accept', 'accept4', 'listen', 'shutdown', 'recvmmsg'),
    ...refusedQuietly('getsockopt', 'setsockopt', 'getsockname'),
    // bash asks for the peer of its stdin, and takes every other error for a login over the network.
    ['getpeername', [finish(failWith(ENOTSOCK))]],
    ['socket', unixStreamsOnly(refuse)],
    ['socketpair', unixStreamsOnly(refuse)],
  ],
  proxy: (refuse) => [
    [
      'socket',
      [load(argument(0)), ...whenEqual(AF_INET, [finish(ALLOW)]), ...whenEqual(AF_INET6, [finish(ALLOW)]), refuse],
    ],
    ['socketpair', unixStreamsOnly(refuse)],
  ],
  // A Unix socket would reach every service of the host whose path is in the view.
  loopback: (refuse) => [
    [
      'socket',
      [
        load(argument(0)),
        ...whenEqual(AF_INET, [finish(ALLOW)]),
        ...whenEqual(AF_INET6, [finish(ALLOW)]),
        ...unlessEqual(AF_NETLINK, [refuse]),
        load(argument(2)),
        ...whenEqual(NETLINK_ROUTE, [finish(ALLOW)]), // addresses and interfaces, which servers list when they start
        refuse,
      ],
    ],
    ['socketpair', unixStreamsOnly(refuse)],
  ],
  // A socket for shared memory (SMC) contains a TCP socket that no process has a descriptor of, so that its user cannot be found.
  base: (refuse) => [
    [
      'socket',
      [
        load(argument(0)),
        ...whenEqual(AF_VSOCK, [refuse]),
        ...whenEqual(AF_SMC, [refuse]),
        load(argument(2)),
        ...whenEqual(IPPROTO_SMC, [refuse]),
        finish(ALLOW),
      ],
    ],
  ],
};

/** Whether connecting is allowed, and reaches nothing but the loopback of the sandbox's own network or its session's. */
export const hasLoopbackOnly = (mode: FilterMode): boolean => mode === 'proxy' || mode === 'loopback';

const asked = (...names: SyscallRule[0][]): SyscallRule[] => names.map((name) => [name, [finish(ASK)]]);

const changesByFlags = (index: number): readonly Instruction[] => [
  load(argument(index)),
  ...whenAnyBit(CHANGES_FILE, [finish(ASK)]),
  finish(ALLOW),
];

/** Times are set by path, or without one by descriptor: a supervisor was asked when that was opened. */
const withPath = (index: number): readonly Instruction[] => [
  load(argument(index)),
  ...unlessEqual(0, [finish(ASK)]),
  load(argument(index) + 4),
  ...unlessEqual(0, [finish(ASK)]),
  finish(ALLOW),
];

const fileRules: readonly SyscallRule[] = [
  ['openat', changesByFlags(2)],
  ['open', changesByFlags(1)],
  ['utimensat', withPath(1)],
  ['futimesat', withPath(1)],
  ...asked('openat2', 'mkdirat', 'mknodat', 'linkat', 'symlinkat', 'unlinkat', 'renameat', 'renameat2', 'truncate'),
  ...asked('fchmodat', 'fchmodat2', 'fchownat'),
  ...asked('creat', 'mkdir', 'mknod', 'link', 'symlink', 'unlink', 'rmdir', 'rename'),
  ...asked('chmod', 'chown', 'lchown', 'utime', 'utimes'),
];

function watchRules(mode: FilterMode, { files, execs }: WatchedCalls): readonly SyscallRule[] {
  const connects = hasLoopbackOnly(mode) ? asked('connect') : [];
  return [...(files ? fileRules : []), ...(execs ? asked('execve', 'execveat') : []), ...connects];
}

const programs = new Map<string, Buffer>();

/** The program for a mode; undefined for an unknown processor architecture. */
export function seccompProgram(mode: FilterMode, options: FilterOptions, arch = process.arch): Buffer | undefined {
  const machine = machines[arch];
  if (machine === undefined) return undefined;
  const key = `${arch} ${mode} ${options.nestedNamespaces} ${options.watch?.files} ${options.watch?.execs}`;
  const program = programs.get(key) ?? assemble(compile(machine, mode, options));
  programs.set(key, program);
  return program;
}

function compile(machine: Machine, mode: FilterMode, { nestedNamespaces, watch }: FilterOptions): Instruction[] {
  const refuse = finish(watch ? ASK : failWith(EPERM));
  const rules = [
    ...common(refuse),
    ...(nestedNamespaces ? [] : noUserNamespaces(refuse)),
    ...byMode[mode](refuse),
    ...(watch ? watchRules(mode, watch) : []),
  ];
  const numbers: Readonly<Partial<Record<SyscallRule[0], number>>> = { ...machine.numbers, ...machine.oldNumbers };
  return [
    load(ARCHITECTURE),
    ...unlessEqual(machine.architecture, [finish(KILL_PROCESS)]),
    load(SYSCALL_NUMBER),
    ...(machine.foreignFrom === undefined ? [] : whenAtLeast(machine.foreignFrom, [finish(failWith(ENOSYS))])),
    ...rules.flatMap(([name, body]) => (numbers[name] === undefined ? [] : whenEqual(numbers[name], body))),
    finish(ALLOW),
  ];
}
