import * as z from 'zod/mini';
import { environmentInfo } from './environment.ts';
import { method, optional } from './schema.ts';

export const initialize = method({
  family: 'initialize',
  params: z.object({
    clientName: z.string(),
    resumeSessionId: optional(z.string()),
    /** Notifications beyond the reference's that this client wants to see. */
    events: optional(z.array(z.string())),
    /**
     * What this client knows beyond the reference: with `sandboxDenials` the refusals of sandboxes are reported, with `errorDetails`
     * errors have `data: { errno?, subject?, path?, searched? }`.
     */
    capabilities: optional(z.record(z.string(), z.boolean())),
  }),
  result: z.object({
    sessionId: z.optional(z.string()), // the oldest servers know no sessions
    environmentInfo: optional(environmentInfo),
  }),
});
