import * as z from 'zod/mini';
import { bytes, method, optional, unsigned } from './schema.ts';

/** Requests that the server sends elsewhere for its client. */
export const httpMethods = {
  'http/request': method({
    family: 'http',
    scope: 'run',
    params: z.object({
      method: z.string(),
      url: z.string(),
      requestId: z.string(),
      headers: optional(z.array(z.object({ name: z.string(), value: z.string(), valueEnvVar: optional(z.string()) }))),
      bodyBase64: optional(bytes),
      timeoutMs: optional(unsigned),
      redirectPolicy: optional(z.enum(['follow', 'stop'])),
      streamResponse: optional(z.boolean()),
    }),
    result: z.object({
      status: z.number(),
      headers: z.array(z.object({ name: z.string(), value: z.string() })),
      bodyBase64: bytes,
    }),
  }),
};

export const httpNotifications = {
  'http/request/bodyDelta': z.object({
    requestId: z.string(),
    seq: unsigned,
    deltaBase64: bytes,
    done: z.boolean(),
    error: optional(z.string()),
  }),
};
