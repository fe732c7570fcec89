import { limits } from '../limits.ts';

/** A tool as a model is told about it. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly strict: false;
  readonly parameters: ObjectSchema;
}

/** The subset of JSON Schema that the tools need. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly description?: string;
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

export interface ToolFeatures {
  readonly allowLoginShell: boolean;
  readonly additionalPermissions: boolean;
  /** More than one place to choose from. */
  readonly severalEnvironments: boolean;
  readonly longestPollMs: number;
}

export function execCommandTool(features: ToolFeatures): ToolDefinition {
  const { allowLoginShell, additionalPermissions, severalEnvironments } = features;
  const properties = {
    ...(additionalPermissions && { additional_permissions: additionalPermissionsSchema }),
    cmd: text('The script to run in a shell.'),
    ...(severalEnvironments && {
      environment_id: text('Where to run, one of the attached environments; the first one unless given.'),
    }),
    justification: text('With `require_escalated`: the question to put to the user.'),
    ...(allowLoginShell && { login: flag('Whether the shell reads its login files first; true unless given.') }),
    max_output_tokens: outputTokens,
    prefix_rule: list(
      'With `require_escalated`: the first words of commands to approve from now on, like ["git", "pull"].',
    ),
    sandbox_permissions: {
      type: 'string',
      description: additionalPermissions
        ? '`use_default` unless given; `with_additional_permissions` asks for what `additional_permissions` names, `require_escalated` to run without sandbox.'
        : '`use_default` unless given; `require_escalated` asks to run without sandbox.',
      enum: ['use_default', ...(additionalPermissions ? ['with_additional_permissions'] : []), 'require_escalated'],
    },
    shell: text("The shell to use; the user's own unless given."),
    tty: flag('True for a terminal, which takes input later; pipes without input unless given.'),
    workdir: text('The directory to run in, absolute or relative to that of the conversation, which is the default.'),
    yield_time_ms: number(
      `How long to wait for the end before answering with what there is: ${limits.shortestYieldMs} to ${limits.longestYieldMs} ms, ${limits.startYieldMs} unless given.`,
    ),
  };
  return tool('exec_command', 'Runs a command. Answers with its output, and with a session id if it still runs.', {
    type: 'object',
    properties,
    required: ['cmd'],
    additionalProperties: false,
  });
}

export function writeStdinTool({ longestPollMs }: ToolFeatures): ToolDefinition {
  const properties = {
    chars: text('What to type, in a session with a terminal; nothing to only look what is new.'),
    max_output_tokens: outputTokens,
    session_id: number('The session, from an earlier answer.'),
    yield_time_ms: number(
      `How long to wait for the end before answering: after typing up to ${limits.longestYieldMs} ms, ${limits.inputYieldMs} unless given; otherwise ${limits.shortestPollMs} to ${longestPollMs} ms.`,
    ),
  };
  return tool('write_stdin', 'Types into a running session, or looks at it, and answers with its new output.', {
    type: 'object',
    properties,
    required: ['session_id'],
    additionalProperties: false,
  });
}

/** The shape of `ToolResult.structured`, of both tools. */
export const resultSchema: ObjectSchema = {
  type: 'object',
  properties: {
    chunk_id: text('Names this piece of output.'),
    wall_time_seconds: number('How long the call waited.'),
    exit_code: number('Given when the command has ended.'),
    session_id: number('Given while the command runs.'),
    original_token_count: number('The size of the output before it was cut to the budget.'),
    output: text('What the command printed since the last call, cut to the budget.'),
  },
  required: ['wall_time_seconds', 'output'],
  additionalProperties: false,
};

const outputTokens = number(
  `How many tokens of output to answer with at most; ${limits.modelOutputTokens} unless given, and never more than the model takes.`,
);

const additionalPermissionsSchema: ObjectSchema = {
  type: 'object',
  description: 'With `with_additional_permissions`: what the sandbox shall let through for this command.',
  properties: {
    file_system: {
      type: 'object',
      description: 'Files and directories.',
      properties: { read: list('Absolute paths to read.'), write: list('Absolute paths to write.') },
      additionalProperties: false,
    },
    network: {
      type: 'object',
      description: 'The network.',
      properties: { enabled: flag('True to reach it.') },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

function tool(name: string, description: string, parameters: ObjectSchema): ToolDefinition {
  return { type: 'function', name, description, strict: false, parameters };
}

function text(description: string): object {
  return { type: 'string', description };
}

function number(description: string): object {
  return { type: 'number', description };
}

function flag(description: string): object {
  return { type: 'boolean', description };
}

function list(description: string): object {
  return { type: 'array', description, items: { type: 'string' } };
}
