import * as z from 'zod/mini';
import { LONGEST_TIMER_MS } from '../base/index.ts';
import { networkProxy, startNetwork } from './network.ts';
import { sandbox } from './sandbox.ts';
import { optional, pathUri, unsigned } from './schema.ts';

const environment = z.record(z.string(), z.string());
const processId = z.string();

const envPolicy = z.object({
  inherit: z.enum(['core', 'all', 'none']),
  ignoreDefaultExcludes: z.boolean(),
  exclude: z.array(z.string()),
  set: environment,
  includeOnly: z.array(z.string()),
});
export type EnvPolicy = z.output<typeof envPolicy>;

export const terminalSide = z
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

const wholeFrom = (least: number, name: string) =>
  z
    .number()
    .check(
      z.refine(
        (count) => Number.isSafeInteger(count) && count >= least,
        `${name} must be a whole number from ${least}`,
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
  /** Extension: the user to run as, by name or as `UID:GID`; for servers of root whose setting `allow_users` lists it. */
  user: optional(z.string()),
  /** Extension: what the process and its descendants may use. The start fails if one of them cannot be enforced. */
  limits: optional(
    z.strictObject({
      memoryBytes: optional(wholeFrom(1, 'memoryBytes')),
      /** Of so many processors; 0.5 is half of one. */
      cpus: optional(
        z.number().check(z.refine((cpus) => cpus >= 0.01 && cpus <= 1_000_000, 'cpus must be at least 0.01')),
      ),
      /** Processes and threads. */
      pids: optional(wholeFrom(1, 'pids')),
      /** Of every single file that is written. */
      fileBytes: optional(wholeFrom(0, 'fileBytes')),
    }),
  ),
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

/** What to start, and how. */
export const startParams = z.discriminatedUnion('mode', [direct, prepared]).check(ttyOrIo, graceAfterTime);

const enforcer = z.optional(z.enum(['cgroup', 'rlimit', 'watch']));

export const startResult = z.object({
  processId,
  sandboxType: z.optional(z.string()),
  /** Extension: the number of the process on the host; in a sandbox, of the one that makes it (`process/stat` tells the command's). */
  pid: z.optional(unsigned),
  /** Extension: what enforces each of the `limits`. */
  limitsEnforcedBy: z.optional(
    z.object({ memoryBytes: enforcer, cpus: enforcer, pids: enforcer, fileBytes: enforcer }),
  ),
});
