import * as z from 'zod/mini';
import { environmentInfo } from './environment.ts';
import { method, optional } from './schema.ts';

export const initialize = method({
  family: 'initialize',
  scope: 'any',
  params: z.object({
    clientName: z.string(),
    resumeSessionId: optional(z.string()),
    /** Notifications beyond the reference's that this client asks for. */
    events: optional(z.array(z.string())),
    /**
     * Extensions that this client understands: with `sandboxDenials` the accesses that sandboxes deny are reported, with `errorDetails`
     * errors have `data: { errno?, subject?, path?, searched? }`, with `processTimeout` `process/exited` tells the `signal` of every process.
     */
    capabilities: optional(z.record(z.string(), z.boolean())),
  }),
  result: z.object({
    sessionId: z.optional(z.string()), // absent from the oldest servers, which have no sessions
    environmentInfo: optional(environmentInfo),
  }),
});
