import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type FilterMode, seccompProgram } from './program.ts';
import { machines, type SyscallName } from './syscalls.ts';

const { EPERM, ENOSYS, ENOTSOCK } = constants.errno;
const ALLOWED = 'allow';
const KILLED = 'kill';
const ASKED = 'ask';

interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly args: readonly number[];
}

/** Runs the program on a call as the kernel would. */
function judge(program: Buffer, { architecture, number, args }: Call): string | number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  let word = 0;
  for (let at = 0; ; at++) {
    const code = program.readUInt16LE(at * 8);
    const k = program.readUInt32LE(at * 8 + 4);
    const jump = (taken: boolean) => program.readUInt8(at * 8 + (taken ? 2 : 3));
    if (code === 0x20) word = data.readUInt32LE(k);
    else if (code === 0x54) word = (word & k) >>> 0;
    else if (code === 0x15) at += jump(word === k);
    else if (code === 0x35) at += jump(word >= k);
    else if (code === 0x45) at += jump((word & k) !== 0);
    else if (code === 0x06) return verdict(k);
    else throw new Error(`unknown instruction ${code}`);
  }
}

function verdict(action: number): string | number {
  if (action === 0x7fff_0000) return ALLOWED;
  if (action === 0x8000_0000) return KILLED;
  if (action === 0x7fc0_0000) return ASKED;
  if (action >>> 16 === 5) return action & 0xffff;
  throw new Error(`unknown action ${action}`);
}

describe.each(['x64', 'arm64'] as const)('the filter of system calls on %s', (arch) => {
  const machine = machines[arch]!;
  const ask = (mode: FilterMode, name: SyscallName, ...args: number[]) =>
    judge(seccompProgram(mode, { nestedNamespaces: false }, arch)!, {
      architecture: machine.architecture,
      number: machine.numbers[name],
      args,
    });
  const modes: FilterMode[] = ['isolated', 'proxy', 'loopback', 'base'];
  const [unix, inet, inet6, netlink, vsock, smc] = [1, 2, 10, 16, 40, 43];
  const [stream, datagram, raw, seqpacket, cloexec] = [1, 2, 3, 5, 0o2000000];

  it.each([
    ...(['ptrace', 'process_vm_readv', 'process_vm_writev', 'io_uring_setup', 'io_uring_enter'] as const),
    ...(['io_uring_register', 'setns', 'add_key', 'request_key', 'keyctl', 'userfaultfd'] as const),
    ...(['perf_event_open', 'bpf'] as const),
  ])('refuses %s whatever the network', (name) => {
    expect(modes.map((mode) => ask(mode, name))).toEqual([EPERM, EPERM, EPERM, EPERM]);
  });

  it('refuses new user namespaces unless they are asked for', () => {
    const newUser = 0x1000_0000;
    expect(ask('base', 'unshare', newUser)).toBe(EPERM);
    expect(ask('base', 'unshare', 0x2_0000)).toBe(ALLOWED);
    expect(ask('base', 'clone', newUser | 17)).toBe(EPERM);
    expect(ask('base', 'clone', 17)).toBe(ALLOWED);
    expect(ask('base', 'clone3')).toBe(ENOSYS);
    const nested = seccompProgram('base', { nestedNamespaces: true }, arch)!;
    for (const name of ['unshare', 'clone', 'clone3'] as const) {
      const call = { architecture: machine.architecture, number: machine.numbers[name], args: [newUser] };
      expect(judge(nested, call)).toBe(ALLOWED);
    }
  });

  it('refuses to type into terminals', () => {
    expect([0x5412, 0x541c, 0x5401].map((request) => ask('base', 'ioctl', 0, request))).toEqual([
      EPERM,
      EPERM,
      ALLOWED,
    ]);
  });

  it.each([
    ...(['connect', 'accept', 'accept4', 'bind', 'listen', 'shutdown', 'sendto', 'sendmmsg', 'recvmmsg'] as const),
    ...(['getsockopt', 'setsockopt', 'getsockname'] as const),
  ])('refuses %s only without a network', (name) => {
    expect(modes.map((mode) => ask(mode, name))).toEqual([EPERM, ALLOWED, ALLOWED, ALLOWED]);
  });

  it('says that nothing is a socket when asked for a peer without a network', () => {
    expect(modes.map((mode) => ask(mode, 'getpeername'))).toEqual([ENOTSOCK, ALLOWED, ALLOWED, ALLOWED]);
  });

  it.each([
    ['Unix streams', unix, stream | cloexec, [ALLOWED, EPERM, EPERM, ALLOWED]],
    ['Unix packets', unix, seqpacket, [ALLOWED, EPERM, EPERM, ALLOWED]],
    ['Unix datagrams', unix, datagram | cloexec, [EPERM, EPERM, EPERM, ALLOWED]],
    ['raw Unix sockets', unix, raw, [EPERM, EPERM, EPERM, ALLOWED]],
    ['internet sockets', inet, stream, [EPERM, ALLOWED, ALLOWED, ALLOWED]],
    ['internet sockets of version 6', inet6, datagram, [EPERM, ALLOWED, ALLOWED, ALLOWED]],
    ['routing sockets', netlink, raw, [EPERM, EPERM, ALLOWED, ALLOWED]],
    ['sockets to the hypervisor', vsock, stream, [EPERM, EPERM, EPERM, EPERM]],
    ['sockets for shared memory', smc, stream, [EPERM, EPERM, EPERM, EPERM]],
  ])('knows what to do with %s', (_what, family, type, verdicts) => {
    expect(modes.map((mode) => ask(mode, 'socket', family!, type!))).toEqual(verdicts);
  });

  it('answers questions about the network of a session, and no others of the kernel', () => {
    const protocols = [0, 4, 9, 12, 15]; // routes, sockets, audit, packet filter, devices
    expect(protocols.map((protocol) => ask('loopback', 'socket', netlink!, raw!, protocol))).toEqual([
      ALLOWED,
      ...Array.from({ length: 4 }, () => EPERM),
    ]);
  });

  it.each([inet, inet6])('lets no connection hide in a socket for shared memory (family %s)', (family) => {
    const [tcp, multipath, sharedMemory] = [6, 262, 256].map((protocol) =>
      ask('base', 'socket', family, stream!, protocol),
    );
    expect([tcp, multipath, sharedMemory]).toEqual([ALLOWED, ALLOWED, EPERM]);
  });

  it('looks at the part of the family that the kernel looks at', () => {
    expect(ask('isolated', 'socket', 2 ** 32 + inet!, stream!)).toBe(EPERM);
    expect(ask('isolated', 'socket', 2 ** 32 + unix!, stream!)).toBe(ALLOWED);
  });

  it('lets pairs of sockets be made that cannot reach others', () => {
    expect([stream, seqpacket, datagram].map((type) => ask('proxy', 'socketpair', unix!, type!))).toEqual([
      ALLOWED,
      ALLOWED,
      EPERM,
    ]);
  });

  describe('for a supervisor', () => {
    const watch = { files: true, execs: false };
    const watched = (mode: FilterMode, name: SyscallName, ...args: number[]) =>
      judge(seccompProgram(mode, { nestedNamespaces: false, watch }, arch)!, {
        architecture: machine.architecture,
        number: machine.numbers[name],
        args,
      });

    it.each(['ptrace', 'setns', 'keyctl', 'bpf', 'connect', 'bind', 'sendto'] as const)('asks about %s', (name) => {
      expect(watched('isolated', name)).toBe(ASKED);
    });

    it.each(['io_uring_setup', 'getsockopt', 'listen'] as const)('refuses %s, which programs only try', (name) => {
      expect(watched('isolated', name)).toBe(EPERM);
    });

    it('asks about sockets that are refused, and lets others pass', () => {
      expect(watched('isolated', 'socket', inet!, stream!)).toBe(ASKED);
      expect(watched('isolated', 'socket', unix!, stream!)).toBe(ALLOWED);
      expect(watched('base', 'socket', inet!, stream!)).toBe(ALLOWED);
    });

    it('asks about opening for writing, and not about reading', () => {
      expect([0, 1, 2, 0o100, 0o1000].map((flags) => watched('isolated', 'openat', 0, 0, flags))).toEqual([
        ALLOWED,
        ...Array.from({ length: 4 }, () => ASKED),
      ]);
      expect([0, 1, 2 ** 32].map((path) => watched('isolated', 'utimensat', 0, path))).toEqual([ALLOWED, ASKED, ASKED]);
    });

    it('asks about connections where only the loopback of the sandbox can be reached', () => {
      expect(watched('proxy', 'connect')).toBe(ASKED);
      expect(watched('base', 'connect')).toBe(ALLOWED);
    });

    it('asks about programs only if told to', () => {
      expect(watched('isolated', 'execve')).toBe(ALLOWED);
      const program = seccompProgram('base', { nestedNamespaces: false, watch: { files: false, execs: true } }, arch)!;
      const call = { architecture: machine.architecture, number: machine.numbers.execve, args: [] };
      expect(judge(program, call)).toBe(ASKED);
      expect(judge(program, { ...call, number: machine.numbers.mkdirat })).toBe(ALLOWED);
    });

    it('allows nothing that is refused without one', () => {
      const plain = seccompProgram('isolated', { nestedNamespaces: false }, arch)!;
      const asking = seccompProgram('isolated', { nestedNamespaces: false, watch }, arch)!;
      for (let number = 0; number < 460; number++) {
        for (const argument of [0, 1, 2, 3, 16, 0x5412, 0x1000_0000]) {
          const call = { architecture: machine.architecture, number, args: [argument, argument, argument] };
          if (judge(plain, call) !== ALLOWED) expect(judge(asking, call)).not.toBe(ALLOWED);
        }
      }
    });
  });

  it('kills callers of another machine', () => {
    const program = seccompProgram('base', { nestedNamespaces: false }, arch)!;
    expect(judge(program, { architecture: 0x4000_0003, number: 1, args: [] })).toBe(KILLED);
  });

  it('lets everything else pass', () => {
    const program = seccompProgram('isolated', { nestedNamespaces: false }, arch)!;
    const rules = new Set<number>(Object.values(machine.numbers));
    for (let number = 0; number < 460; number++) {
      const call = { architecture: machine.architecture, number, args: [] };
      if (!rules.has(number)) expect(judge(program, call)).toBe(ALLOWED);
    }
  });
});

it('the filter on x64 does not know the calls of x32', () => {
  const program = seccompProgram('base', { nestedNamespaces: false }, 'x64')!;
  expect(judge(program, { architecture: 0xc000_003e, number: 0x4000_0000 + 41, args: [] })).toBe(ENOSYS);
});

it('there is no filter for an unknown machine', () => {
  expect(seccompProgram('base', { nestedNamespaces: false }, 'mips')).toBeUndefined();
});
