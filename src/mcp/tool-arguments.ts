import * as z from 'zod/mini';
import { ExecError } from '../protocol/index.ts';
import type { ObjectSchema, Schema } from './tool.ts';

/** What a call wishes of the sandbox. */
export const permissionArguments = {
  sandbox_permissions: z.optional(z.enum(['use_default', 'require_escalated'])),
  justification: z.optional(z.string()),
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

/** The schema of a file tool's arguments, as the model sees it. */
export function inputSchema(properties: Record<string, Schema>, required: string[]): ObjectSchema {
  const permissions: Record<string, Schema> = {
    sandbox_permissions: {
      type: 'string',
      enum: ['use_default', 'require_escalated'],
      description: 'Set to require_escalated to ask the user for access beyond the sandbox.',
    },
    justification: {
      type: 'string',
      description: 'With require_escalated only: the question to the user, in one sentence.',
    },
  };
  return { type: 'object', properties: { ...properties, ...permissions }, required, additionalProperties: false };
}
