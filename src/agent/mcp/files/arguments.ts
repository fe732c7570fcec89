import * as z from 'zod/mini';
import { ExecError } from '../../../protocol/index.ts';
import type { JsonObjectSchema, JsonSchema } from '../tool.ts';

/** The argument that explains a call to the user. */
export const justificationArgument = { justification: z.optional(z.string()) };

/** The arguments of a call that can ask to leave the sandbox. */
export const permissionArguments = {
  sandbox_permissions: z.optional(z.enum(['use_default', 'require_escalated'])),
  ...justificationArgument,
};

export interface PermissionArguments {
  readonly sandbox_permissions?: 'use_default' | 'require_escalated' | undefined;
  readonly justification?: string | undefined;
}

export const pathArgument = z.string().check(z.minLength(1, 'expected a path'));
export const countArgument = z.int('expected a whole number').check(z.gte(1, 'expected 1 or more'));

/** Parses the arguments of a call; the error names the wrong one. */
export function parseArguments<T extends z.ZodMiniType>(tool: string, schema: T, args: unknown): z.output<T> {
  const parsed = z.safeParse(schema, args);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const member = issue?.path.join('.') || 'arguments';
  throw new ExecError('invalidParams', `${tool}: \`${member}\`: ${issue?.message ?? 'invalid'}`);
}

export const pathSchema: JsonSchema = {
  type: 'string',
  description: 'Absolute, or relative to the working directory.',
};

/** The input schema of a tool that reads files. */
export function readSchema(properties: Record<string, JsonSchema>, required: string[]): JsonObjectSchema {
  return objectSchema(
    {
      ...properties,
      sandbox_permissions: {
        type: 'string',
        enum: ['use_default', 'require_escalated'],
        description: 'Set to require_escalated to ask the user for access beyond the sandbox.',
      },
      justification: {
        type: 'string',
        description: 'With require_escalated only: the question to the user, in one sentence.',
      },
    },
    required,
  );
}

/** The input schema of a tool that changes files: such a call asks the user without being told to. */
export function changeSchema(properties: Record<string, JsonSchema>, required: string[]): JsonObjectSchema {
  const description =
    'For changes beyond the sandbox, about which the user is asked: why they are needed, in one sentence.';
  return objectSchema({ ...properties, justification: { type: 'string', description } }, required);
}

const objectSchema = (properties: Record<string, JsonSchema>, required: string[]): JsonObjectSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
