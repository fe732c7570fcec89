/** A machine as seccomp sees it. */
export interface Machine {
  /** The audit number of its system call interface. */
  readonly architecture: number;
  /** Numbers from here on belong to another interface of the same machine. */
  readonly foreignFrom: number | undefined;
  readonly numbers: Readonly<Record<SyscallName, number>>;
}

export type SyscallName = keyof typeof x64;

const x64 = {
  ptrace: 101,
  process_vm_readv: 310,
  process_vm_writev: 311,
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  socket: 41,
  connect: 42,
  accept: 43,
  sendto: 44,
  shutdown: 48,
  bind: 49,
  listen: 50,
  getsockname: 51,
  getpeername: 52,
  socketpair: 53,
  setsockopt: 54,
  getsockopt: 55,
  accept4: 288,
  recvmmsg: 299,
  sendmmsg: 307,
  ioctl: 16,
  setns: 308,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  userfaultfd: 323,
  perf_event_open: 298,
  bpf: 321,
  unshare: 272,
  clone: 56,
  clone3: 435,
} as const;

const arm64: Readonly<Record<SyscallName, number>> = {
  ptrace: 117,
  process_vm_readv: 270,
  process_vm_writev: 271,
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  socket: 198,
  connect: 203,
  accept: 202,
  sendto: 206,
  shutdown: 210,
  bind: 200,
  listen: 201,
  getsockname: 204,
  getpeername: 205,
  socketpair: 199,
  setsockopt: 208,
  getsockopt: 209,
  accept4: 242,
  recvmmsg: 243,
  sendmmsg: 269,
  ioctl: 29,
  setns: 268,
  add_key: 217,
  request_key: 218,
  keyctl: 219,
  userfaultfd: 282,
  perf_event_open: 241,
  bpf: 280,
  unshare: 97,
  clone: 220,
  clone3: 435,
};

/** By the names Node gives to machines. */
export const machines: Readonly<Record<string, Machine | undefined>> = {
  x64: { architecture: 0xc000_003e, foreignFrom: 0x4000_0000, numbers: x64 },
  arm64: { architecture: 0xc000_00b7, foreignFrom: undefined, numbers: arm64 },
};
