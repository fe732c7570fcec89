import { isAbsolute } from 'node:path';
import { ExecError } from '../../../protocol/index.ts';
import type { ShellOutcome } from '../../escalation/index.ts';

export const SHELL_TOOL = 'shell';

const DEFAULT_TIMEOUT_MS = 10_000;

/** The tool as it is listed to clients. */
export const shellToolDefinition = {
  name: SHELL_TOOL,
  description: 'Runs a shell command and returns its output. `workdir` must be an absolute path.',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'ExecParams',
    type: 'object' as const,
    properties: {
      command: { type: 'string', description: 'The script for Bash.' },
      workdir: { type: 'string', description: 'The directory to run it in, an absolute path.' },
      timeout_ms: {
        type: 'integer',
        format: 'uint64',
        minimum: 0,
        nullable: true,
        description: `Time limit in milliseconds, ${DEFAULT_TIMEOUT_MS} by default. The time of questions to the user does not count.`,
      },
      login: {
        type: 'boolean',
        nullable: true,
        description: 'True (the default) to read the start-up files of a login shell: -lc instead of -c.',
      },
    },
    required: ['command', 'workdir'],
  },
  outputSchema: {
    type: 'object' as const,
    properties: {
      exit_code: { type: 'integer' },
      output: { type: 'string', description: 'Both streams, in order of arrival.' },
      duration: {
        type: 'object',
        properties: { secs: { type: 'integer' }, nanos: { type: 'integer' } },
        required: ['secs', 'nanos'],
      },
      timed_out: { type: 'boolean' },
      stdout: { type: 'string' },
      stderr: { type: 'string' },
      truncated: { type: 'boolean', description: 'The middle of the output is left out.' },
      sandbox_denied: { type: 'boolean', description: 'The command failed, probably because of the sandbox.' },
      denials: {
        type: 'array',
        description: 'What the sandbox refused; only for clients with the experimental capability sandboxDenials.',
        items: {
          type: 'object',
          properties: {
            kind: { type: 'string', enum: ['write', 'network', 'syscall', 'read'] },
            path: { type: 'string' },
            address: { type: 'string' },
            program: { type: 'string' },
          },
          required: ['kind', 'program'],
        },
      },
    },
    required: ['exit_code', 'output', 'duration', 'timed_out', 'stdout', 'stderr', 'truncated', 'sandbox_denied'],
  },
  annotations: { title: 'Run a shell command', readOnlyHint: false, destructiveHint: true, openWorldHint: true },
};

export interface ShellArguments {
  readonly command: string;
  readonly workdir: string;
  readonly timeoutMs: number;
  readonly login: boolean;
}

/** Parses the arguments; throws when one is missing or of another type. */
export function shellArguments(given: Readonly<Record<string, unknown>>): ShellArguments {
  const command = member(given, 'command', isText, 'a string');
  const workdir = member(given, 'workdir', isText, 'a string');
  if (!isAbsolute(workdir))
    throw wrong(`\`workdir\` must be an absolute path, which ${JSON.stringify(workdir)} is not`);
  if ([command, workdir].some((text) => text.includes('\0')))
    throw wrong('`command` and `workdir` must not contain NUL');
  return {
    command,
    workdir,
    timeoutMs: optionalMember(given, 'timeout_ms', isCount, 'u64') ?? DEFAULT_TIMEOUT_MS,
    login: optionalMember(given, 'login', isFlag, 'a boolean') ?? true,
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0;

function member<T>(
  given: Readonly<Record<string, unknown>>,
  name: string,
  isRight: (value: unknown) => value is T,
  expected: string,
): T {
  const value = given[name];
  if (value === undefined) throw wrong(`missing field \`${name}\``);
  if (!isRight(value)) throw wrong(`\`${name}\`: invalid ${JSON.stringify(value)}, expected ${expected}`);
  return value;
}

function optionalMember<T>(...[given, name, isRight, expected]: Parameters<typeof member<T>>): T | undefined {
  const value = given[name];
  return value === undefined || value === null ? undefined : member(given, name, isRight, expected);
}

const wrong = (what: string): ExecError => new ExecError('invalidParams', `failed to deserialize parameters: ${what}`);

/** The result, with the member names of the reference. */
export function shellResult(outcome: ShellOutcome): Record<string, unknown> {
  const secs = Math.floor(outcome.durationMs / 1000);
  return {
    exit_code: outcome.exitCode,
    output: outcome.output,
    duration: { secs, nanos: Math.round((outcome.durationMs - secs * 1000) * 1_000_000) },
    timed_out: outcome.timedOut,
    stdout: outcome.stdout,
    stderr: outcome.stderr,
    truncated: outcome.truncated,
    sandbox_denied: outcome.sandboxDenied,
    ...(outcome.denials && {
      denials: outcome.denials.map((denial) => ({ ...denial, ...(denial.path && { path: denial.path.href }) })),
    }),
  };
}
