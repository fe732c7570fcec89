import * as z from 'zod/mini';
import { ExecError } from '../../protocol/index.ts';
import type { ObjectSchema, Schema } from './tool.ts';

/** What a call that changes files tells the user, should the user be asked. */
export const justificationArgument = { justification: z.optional(z.string()) };

/** The sandbox that a call asks for. */
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

/** Takes arguments apart, or says which one is wrong. */
export function parseArguments<T extends z.ZodMiniType>(tool: string, schema: T, args: unknown): z.output<T> {
  const parsed = z.safeParse(schema, args);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const member = issue?.path.join('.') || 'arguments';
  throw new ExecError('invalidParams', `${tool}: \`${member}\`: ${issue?.message ?? 'invalid'}`);
}

export const pathSchema: Schema = { type: 'string', description: 'Absolute, or relative to the working directory.' };

/** The arguments of a tool that looks at files, as the model sees them. */
export function lookSchema(properties: Record<string, Schema>, required: string[]): ObjectSchema {
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

/** The arguments of a tool that changes files: it asks the user by itself if it has to. */
export function changeSchema(properties: Record<string, Schema>, required: string[]): ObjectSchema {
  const description =
    'For changes beyond the sandbox, about which the user is asked: why they are needed, in one sentence.';
  return objectSchema({ ...properties, justification: { type: 'string', description } }, required);
}

const objectSchema = (properties: Record<string, Schema>, required: string[]): ObjectSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
