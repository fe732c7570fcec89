import * as z from 'zod/mini';
import { method, optional, unsigned } from './schema.ts';

const proxy = z.object({
  enabled: z.boolean(),
  enableSocks5: z.boolean(),
  enableSocks5Udp: z.boolean(),
  allowUpstreamProxy: z.boolean(),
  dangerouslyAllowAllUnixSockets: z.boolean(),
  mode: z.enum(['limited', 'full']),
  domains: optional(z.record(z.string(), z.enum(['allow', 'deny', 'none']))),
  unixSockets: optional(z.record(z.string(), z.enum(['allow', 'deny', 'none']))),
  allowLocalBinding: z.boolean(),
  /** Hosts to ask the client about although they are allowed. */
  reviewDomains: optional(z.array(z.string())),
  credentialMasking: optional(z.boolean()),
  credentialProviders: optional(z.record(z.string(), z.unknown())),
});
export type NetworkProxyRules = z.output<typeof proxy>;

/** The proxy to start for one process, and whether to ask the client about hosts that are not listed. */
export const networkProxy = z.object({
  proxy,
  auditMetadata: optional(z.record(z.string(), z.unknown())),
  environmentId: optional(z.string()),
  executionId: optional(z.string()),
  policyDecisionTimeoutMs: optional(unsigned),
});
export type NetworkProxy = z.output<typeof networkProxy>;

/** `example.com`; `*.example.com` for the names below it; `**.example.com` for both; `*` for all; an address. */
const isAllowedHost = (host: string): boolean =>
  host === '*' || /^(\*{1,2}\.)?[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)*$/u.test(host) || isAddress6(host);

const isAddress6 = (host: string): boolean => /^[0-9a-f:.]+$/i.test(host) && host.split(':').length > 2;

const allowedHost = z.string().check(
  z.refine(isAllowedHost, {
    error: ({ input }) =>
      `network: ${JSON.stringify(String(input).slice(0, 200))} cannot be allowed: expected a host such as example.com, *.example.com or ` +
      '**.example.com, or an address, without scheme and port',
  }),
);

/**
 * The network of one sandboxed command: none; the loopback that the session's commands with this value share, and nothing else; the
 * host's; or the named hosts alone.
 */
export const startNetwork = z.union(
  [z.enum(['off', 'loopback', 'on']), z.strictObject({ allow: z.readonly(z.array(allowedHost)) })],
  "network: expected 'off', 'loopback', 'on' or { allow: [hosts] }",
);
export type StartNetwork = z.output<typeof startNetwork>;

const protocol = z.enum(['http', 'https_connect', 'socks5_tcp', 'socks5_udp']);
export type NetworkProtocol = z.output<typeof protocol>;

/** Asks the client whether a process may reach a host. */
export const policyRequest = method({
  family: 'network',
  scope: 'any',
  params: z.object({
    processId: z.string(),
    request: z.object({ protocol, host: z.string(), port: unsigned }),
  }),
  result: z.object({
    decision: z.discriminatedUnion('type', [
      z.object({ type: z.literal('allow') }),
      z.object({ type: z.literal('deny'), reason: z.string() }),
      z.object({ type: z.literal('ask'), reason: z.string() }),
    ]),
  }),
});

/** Tells the client what was decided about a connection of a process. */
export const policyDecision = z.object({
  processId: z.string(),
  timestamp: z.string(),
  scope: z.enum(['domain', 'non_domain']),
  decision: z.enum(['allow', 'deny', 'ask']),
  source: z.enum(['baseline_policy', 'mode_guard', 'proxy_state', 'decider']),
  reason: z.string(),
  protocol,
  host: z.string(),
  port: unsigned,
  method: optional(z.string()),
  client: optional(z.string()),
  policyOverride: z.boolean(),
});
