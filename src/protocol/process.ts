import * as z from 'zod/mini';
import { startParams, startResult, terminalSide } from './process-start.ts';
import { bytes, method, optional, pathUri, unsigned } from './schema.ts';

const family = 'exec';
const processId = z.string();

export const outputStream = z.enum(['stdout', 'stderr', 'pty']);
export type OutputStream = z.output<typeof outputStream>;

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
  /** The limit that the process or a descendant has exceeded, as far as it is known. */
  limitExceeded: z.optional(z.enum(['memory', 'pids', 'fileBytes'])),
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
    params: startParams,
    result: startResult,
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
      limitExceeded: ending.limitExceeded,
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
