import * as z from 'zod/mini';
import { LONGEST_TIMER_MS } from '../base/index.ts';
import { networkProxy, startNetwork } from './network.ts';
import { sandbox } from './sandbox.ts';
import { bytes, method, optional, pathUri, unsigned } from './schema.ts';

const family = 'exec';
const environment = z.record(z.string(), z.string());
const processId = z.string();

export const outputStream = z.enum(['stdout', 'stderr', 'pty']);
export type OutputStream = z.output<typeof outputStream>;

const envPolicy = z.object({
  inherit: z.enum(['core', 'all', 'none']),
  ignoreDefaultExcludes: z.boolean(),
  exclude: z.array(z.string()),
  set: environment,
  includeOnly: z.array(z.string()),
});
export type EnvPolicy = z.output<typeof envPolicy>;

const terminalSide = z
  .number()
  .check(z.refine((side) => Number.isInteger(side) && side >= 1 && side <= 65_535, 'must be between 1 and 65535'));

/** The stdio of a process: a terminal, or pipes with or without a writable stdin; with `stderr: 'stdout'` one pipe for both outputs. */
const io = z.discriminatedUnion('type', [
  z.object({ type: z.literal('pty'), rows: terminalSide, cols: terminalSide }),
  z.object({
    type: z.literal('pipe'),
    stdin: z.enum(['open', 'closed']),
    stderr: optional(z.enum(['separate', 'stdout'])),
  }),
]);
export type ProcessIo = z.output<typeof io>;

/** How long something may take: whole milliseconds that a timer can count. */
const timerMs = (least: 0 | 1, name: string) =>
  z
    .number()
    .check(
      z.refine(
        (ms) => Number.isInteger(ms) && ms >= least && ms <= LONGEST_TIMER_MS,
        `${name} must be a whole number from ${least} to ${LONGEST_TIMER_MS}`,
      ),
    );

const uuid = z.string().check(z.regex(/^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i, 'threadId must be a UUID'));

const identity = z.string().check(z.refine(isIdentity, 'cwdIdentity must be DEVICE:INODE'));

function isIdentity(text: string): boolean {
  return /^\d{1,20}:\d{1,20}$/.test(text) && text.split(':').every((number) => BigInt(number) < 2n ** 64n);
}

const startOptions = {
  processId,
  metadata: optional(z.object({ threadId: optional(uuid), toolCallId: optional(z.string()) })),
  shellSnapshot: optional(z.object({ scopeId: z.string(), shell: z.object({ name: z.string(), path: z.string() }) })),
  tty: z.optional(z.boolean()),
  pipeStdin: optional(z.boolean()),
  io: optional(io),
  sandbox: optional(sandbox),
  enforceManagedNetwork: optional(z.boolean()),
  managedNetwork: optional(
    z.object({ loopbackPorts: optional(z.array(unsigned)), allowLocalBinding: optional(z.boolean()) }),
  ),
  networkProxy: optional(networkProxy),
  /** Extension: instead of what the profile says about the network; not together with the three members above. */
  network: optional(startNetwork),
  /** Makes the start repeatable: the same id and request again get the first answer. */
  startId: optional(z.string()),
  /** Extension: device and inode, from `fs/getMetadata`, of the directory that `cwd` must lead to; otherwise the start is refused. */
  cwdIdentity: optional(identity),
  /**
   * Extension: the family is ended when the process still runs so long after its spawn, with a client or without: by SIGTERM, and by
   * SIGKILL `graceMs` later; without `graceMs` by SIGKILL at once.
   */
  timeoutMs: optional(timerMs(1, 'timeoutMs')),
  graceMs: optional(timerMs(0, 'graceMs')),
  /** Extension: with `pull` there is no `process/output`: the client reads by `process/read`, and only this process waits for it. */
  delivery: optional(z.enum(['push', 'pull'])),
};

const direct = z.object({
  ...startOptions,
  mode: optional(z.literal('direct')),
  argv: z.array(z.string()),
  cwd: pathUri,
  envPolicy: optional(envPolicy),
  env: environment,
  arg0: optional(z.string()),
});

const prepared = z.object({
  ...startOptions,
  mode: z.literal('prepared'),
  request: z.object({
    argv: z.array(z.string()),
    cwd: pathUri,
    env: environment,
    arg0: optional(z.string()),
  }),
});

/** `tty` may be left out only if `io` is given. */
const ttyOrIo = z.refine<{ tty?: boolean | undefined; io?: ProcessIo | null | undefined }>(
  ({ tty, io }) => tty !== undefined || Boolean(io),
  'missing field `tty`',
);

/** A grace period begins when time is over. */
const graceAfterTime = z.refine<{ timeoutMs?: number | null | undefined; graceMs?: number | null | undefined }>(
  ({ timeoutMs, graceMs }) => graceMs == null || timeoutMs != null,
  'graceMs is counted from the end of timeoutMs: give both',
);

/** Extension: an access that the sandbox denied to a process or one of its descendants. */
export const denial = z.object({
  kind: z.enum(['write', 'network', 'syscall', 'read']),
  /** The path that was to be changed. */
  path: z.optional(pathUri),
  /** The peer: `127.0.0.1:80`, `[::1]:80`, `unix:/run/x`, `unix:@abstract`. Unknown where the socket itself was refused. */
  address: z.optional(z.string()),
  /** The file name of the program that was refused; empty when it cannot be known. */
  program: z.string(),
});
export type Denial = z.output<typeof denial>;

/** Extension: at most 32, distinct; only for clients with the capability `sandboxDenials`, and absent if not known. */
const denials = z.optional(z.array(denial));

/** Extension: more about the end of a process than its exit code. */
const ending = {
  /** The signal that ended the process itself, such as `SIGKILL`. In `process/exited` only for clients that know it (docs/processes.md). */
  signal: z.optional(z.string()),
  /** Whether the time of a process that was started with `timeoutMs` was over before it exited. */
  timedOut: z.optional(z.boolean()),
};

const chunk = z.object({ seq: unsigned, stream: outputStream, chunk: bytes });
export type RetainedChunk = z.output<typeof chunk>;

const writeStatus = z.enum(['accepted', 'unknownProcess', 'stdinClosed', 'starting']);

const signalName = z.enum([
  ...(['interrupt', 'terminate', 'hangup', 'quit', 'kill', 'user1', 'user2', 'stop', 'continue'] as const),
]);
export type SignalName = z.output<typeof signalName>;

const processPhase = z.enum(['starting', 'running', 'draining', 'closed']);

/** Requests about processes. */
export const processMethods = {
  'process/start': method({
    family,
    scope: 'run',
    params: z.discriminatedUnion('mode', [direct, prepared]).check(ttyOrIo, graceAfterTime),
    result: z.object({
      processId,
      sandboxType: z.optional(z.string()),
      /** Extension: the number of the process on the host; in a sandbox, of the one that makes it (`process/stat` tells the command's). */
      pid: z.optional(unsigned),
    }),
  }),
  'process/read': method({
    family,
    scope: 'view',
    repeatable: true,
    params: z.object({
      processId,
      afterSeq: optional(unsigned),
      maxBytes: optional(unsigned),
      waitMs: optional(unsigned),
    }),
    result: z.object({
      chunks: z.array(chunk),
      nextSeq: unsigned,
      exited: z.boolean(),
      exitCode: optional(z.number()),
      closed: z.boolean(),
      failure: optional(z.string()),
      sandboxDenied: z.optional(z.boolean()),
      denials,
      ...ending,
      /** Extension: output between `afterSeq` and the first chunk is no longer kept. */
      truncated: z.optional(z.boolean()),
      /** Extension: number of the oldest chunk that is still kept. */
      oldestSeq: z.optional(unsigned),
    }),
  }),
  'process/write': method({
    family,
    scope: 'run',
    params: z.object({
      processId,
      chunk: bytes,
      writeId: optional(z.string().check(z.minLength(1, 'must not be empty'))),
    }),
    result: z.object({ status: writeStatus }),
  }),
  'process/closeStdin': method({
    family,
    scope: 'run',
    capability: 'processCloseStdin',
    repeatable: true,
    params: z.object({ processId }),
    result: z.object({ status: writeStatus }),
  }),
  'process/signal': method({
    family,
    scope: 'run',
    repeatable: true,
    params: z.object({
      processId,
      signal: signalName,
    }),
    result: z.object({}),
  }),
  'process/terminate': method({
    family,
    scope: 'run',
    repeatable: true,
    params: z.object({
      processId,
      mode: optional(
        z.discriminatedUnion('type', [
          z.object({ type: z.literal('graceful'), timeoutMs: unsigned }),
          z.object({ type: z.literal('force') }),
        ]),
      ),
    }),
    result: z.object({ running: z.optional(z.boolean()) }),
  }),
  'process/resize': method({
    family,
    scope: 'run',
    capability: 'processResize',
    repeatable: true,
    params: z.object({ processId, rows: terminalSide, cols: terminalSide }),
    result: z.object({}),
  }),
  'process/wait': method({
    family,
    scope: 'view',
    capability: 'processWait',
    repeatable: true,
    params: z.object({ processId, timeoutMs: optional(unsigned), until: optional(z.enum(['exited', 'closed'])) }),
    result: z.object({
      exited: z.boolean(),
      exitCode: z.nullable(z.number()),
      closed: z.boolean(),
      sandboxDenied: z.boolean(),
      denials,
      signal: ending.signal,
      /** Whether the time of this request was over first; if not, whether that of the process was (`timeoutMs` of its start). */
      timedOut: z.boolean(),
    }),
  }),
  'process/snapshot': method({
    family,
    scope: 'view',
    capability: 'processSnapshot',
    repeatable: true,
    params: z.object({ processId }),
    result: z.object({
      stdout: bytes,
      stderr: bytes,
      terminal: bytes,
      truncated: z.boolean(),
      omittedBytes: z.object({ stdout: unsigned, stderr: unsigned, terminal: unsigned }),
      exitCode: z.nullable(z.number()),
      running: z.boolean(),
    }),
  }),
  'process/stat': method({
    family,
    scope: 'view',
    capability: 'processStat',
    repeatable: true,
    params: z.object({ processId }),
    result: z.object({
      /** The pid of the command on the host, also if it runs in a sandbox. */
      pid: unsigned,
      /** Its present working directory; null when the command has ended, or the directory was removed. */
      cwd: z.nullable(pathUri),
      /** CPU time of the command, its living descendants and those that were waited for. */
      cpuMs: unsigned,
      rssBytes: unsigned,
      /** The number of its living descendants. */
      descendants: unsigned,
    }),
  }),
  'process/list': method({
    family,
    scope: 'view',
    capability: 'processList',
    repeatable: true,
    params: optional(
      z.object({
        /** Extension: the processes of all sessions, for the scope `admin`. */
        all: optional(z.boolean()),
      }),
    ),
    result: z.object({
      processes: z.array(
        z.object({
          /** With `all`: whose it is, and the name of the token with which the session was begun, if it has one. */
          sessionId: z.optional(z.string()),
          tokenName: z.optional(z.string()),
          processId,
          argv: z.array(z.string()),
          tty: z.boolean(),
          phase: processPhase,
          exitCode: z.nullable(z.number()),
          startedAtMs: unsigned,
          nextSeq: unsigned,
          pid: z.optional(unsigned),
          /** The directory in which it was started. */
          cwd: z.optional(pathUri),
          ...ending,
        }),
      ),
    }),
  }),
};

export const processNotifications = {
  'process/output': z.object({ processId, seq: unsigned, stream: outputStream, chunk: bytes }),
  'process/exited': z.object({
    processId,
    seq: unsigned,
    exitCode: z.number(),
    sandboxDenied: z.optional(z.boolean()),
    denials,
    ...ending,
  }),
  'process/closed': z.object({ processId, seq: unsigned }),
  'process/started': z.object({ processId, startedAtMs: unsigned }),
  'process/failed': z.object({ processId, message: z.string() }),
};
