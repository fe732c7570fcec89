import type { AdditionalPermissions } from '../../approval/index.ts';
import { ArgumentsError, JsonCursor } from './json-cursor.ts';
import { boolean, type Fields, integer, list, nullable, oneOf, type Shape, string, struct } from './json-shapes.ts';

const networkPermissions = struct('NetworkPermissions', { enabled: nullable(boolean) });

/** The reference accepts two spellings, and so cannot tell what is wrong: its error names the end of the object. */
const fileSystemPermissions: Shape<{ read?: string[]; write?: string[] } | typeof unmatched> = (cursor) => {
  const start = cursor.copy();
  cursor.skip();
  try {
    return strictPaths(start);
  } catch (error) {
    if (error instanceof ArgumentsError) return unmatched;
    throw error;
  }
};

const unmatched = Symbol('unmatched');
const paths = nullable(list(string));

function strictPaths(cursor: JsonCursor): { read?: string[]; write?: string[] } {
  const refuse: Shape<never> = () => {
    throw cursor.error('unknown field');
  };
  const { read, write } = struct('FileSystemPermissions', { read: paths, write: paths }, [], refuse)(cursor);
  return { ...(read && { read }), ...(write && { write }) };
}

const additionalPermissions: Shape<AdditionalPermissions> = (cursor) => {
  const { network, file_system } = struct('AdditionalPermissionProfile', {
    network: nullable(networkPermissions),
    file_system: nullable(fileSystemPermissions),
  })(cursor);
  if (file_system === unmatched) {
    throw cursor.error('data did not match any variant of untagged enum FileSystemPermissionsDe');
  }
  const enabled = network?.enabled;
  return {
    ...(network && { network: enabled === undefined ? {} : { enabled } }),
    ...(file_system && { file_system }),
  };
};

const execCommandFields = {
  cmd: string,
  workdir: nullable(string),
  shell: nullable(string),
  login: nullable(boolean),
  tty: boolean,
  yield_time_ms: integer('u64'),
  max_output_tokens: nullable(integer('usize')),
  sandbox_permissions: nullable(oneOf('use_default', 'require_escalated', 'with_additional_permissions')),
  additional_permissions: nullable(additionalPermissions),
  justification: nullable(string),
  prefix_rule: nullable(list(string)),
};

const writeStdinFields = {
  session_id: integer('i32'),
  chars: string,
  yield_time_ms: integer('u64'),
  max_output_tokens: nullable(integer('usize')),
};

/** The arguments of `exec_command`. */
export type ExecCommandArguments = Readonly<
  Fields<typeof execCommandFields> & { cmd: string; environment_id?: string | undefined }
>;

/** The arguments of `write_stdin`. */
export type WriteStdinArguments = Readonly<Fields<typeof writeStdinFields> & { session_id: number }>;

/** Parses the environment id alone: an unknown environment is reported before any other mistake. */
export function parseEnvironmentId(text: string): string | undefined {
  return parse(text, struct('ToolEnvironmentArgs', { environment_id: nullable(string) })).environment_id;
}

export function parseExecCommand(text: string): ExecCommandArguments {
  return parse(text, struct('ExecCommandArgs', execCommandFields, ['cmd'])) as ExecCommandArguments;
}

/** Parses the session id alone: an unknown session is reported before any other mistake. */
export function parseSessionId(text: string): number {
  return parse(text, struct('TerminalSessionArgs', { session_id: integer('i32') }, ['session_id'])).session_id!;
}

export function parseWriteStdin(text: string): WriteStdinArguments {
  return parse(text, struct('WriteStdinArgs', writeStdinFields, ['session_id'])) as WriteStdinArguments;
}

function parse<T>(text: string, shape: Shape<T>): T {
  const cursor = new JsonCursor(text);
  const value = shape(cursor);
  cursor.end();
  return value;
}
