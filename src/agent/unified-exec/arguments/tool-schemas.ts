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
  /** There is more than one environment to choose from. */
  readonly severalEnvironments: boolean;
  readonly longestPollMs: number;
}

export function execCommandTool(features: ToolFeatures): ToolDefinition {
  const { allowLoginShell, additionalPermissions, severalEnvironments } = features;
  const properties = {
    ...(additionalPermissions && { additional_permissions: additionalPermissionsSchema }),
    cmd: text('The script to run in a shell.'),
    ...(severalEnvironments && {
      environment_id: text('The environment to run in. Default: the first one.'),
    }),
    justification: text('With `require_escalated`: the question to ask the user.'),
    ...(allowLoginShell && { login: flag('True (the default) to run a login shell.') }),
    max_output_tokens: outputTokens,
    prefix_rule: list(
      'With `require_escalated`: the first words of commands to allow from now on, such as ["git", "pull"].',
    ),
    sandbox_permissions: {
      type: 'string',
      description: additionalPermissions
        ? 'Default `use_default`. `with_additional_permissions` asks for `additional_permissions`, `require_escalated` asks to run without sandbox.'
        : 'Default `use_default`. `require_escalated` asks to run without sandbox.',
      enum: ['use_default', ...(additionalPermissions ? ['with_additional_permissions'] : []), 'require_escalated'],
    },
    shell: text("The shell to use. Default: the user's own."),
    tty: flag('True to run in a terminal, which `write_stdin` can type into. Default: pipes, without input.'),
    workdir: text('The directory to run in, absolute or relative to the working directory, which is the default.'),
    yield_time_ms: number(
      `How long to wait for the command before answering with its output so far: ${limits.shortestYieldMs} to ${limits.longestYieldMs} ms, default ${limits.startYieldMs}.`,
    ),
  };
  return tool(
    'exec_command',
    'Runs a command. Answers with its output, and with a session id if the command still runs.',
    {
      type: 'object',
      properties,
      required: ['cmd'],
      additionalProperties: false,
    },
  );
}

export function writeStdinTool({ longestPollMs }: ToolFeatures): ToolDefinition {
  const properties = {
    chars: text('The input to type, in a session with a terminal. Leave it empty to only get new output.'),
    max_output_tokens: outputTokens,
    session_id: number('The session, from an earlier answer.'),
    yield_time_ms: number(
      `How long to wait for the command before answering: with input up to ${limits.longestYieldMs} ms, default ${limits.inputYieldMs}; without input ${limits.shortestPollMs} to ${longestPollMs} ms.`,
    ),
  };
  return tool('write_stdin', 'Types into a running session, or only waits, and answers with its new output.', {
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
    chunk_id: text('The id of this piece of output.'),
    wall_time_seconds: number('How long the call waited.'),
    exit_code: number('Present when the command has ended.'),
    session_id: number('Present while the command runs.'),
    original_token_count: number('The size of the output before it was cut to the budget.'),
    output: text('The output since the last call, cut to the budget.'),
  },
  required: ['wall_time_seconds', 'output'],
  additionalProperties: false,
};

const outputTokens = number(
  `How many tokens of output to answer with at most, default ${limits.modelOutputTokens}; never more than the model takes.`,
);

const additionalPermissionsSchema: ObjectSchema = {
  type: 'object',
  description: 'With `with_additional_permissions`: what the sandbox is to permit this command.',
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
      properties: { enabled: flag('True to permit connections.') },
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
