const KiB = 1024;
const MiB = 1024 * KiB;

/** Every bound of the service; tests lower some of them. */
export const rendezvousLimits = {
  /** What both kinds of endpoint accept in one message. */
  messageBytes: 256 * KiB,
  /** A key object is 1.7 kB; nothing sent to the registry is much larger. */
  requestBytes: 16 * KiB,

  /** An executor serves no more streams than this. */
  streamsPerEnvironment: 128,
  /** An executor works on no more handshakes than this. */
  handshakesPerEnvironment: 32,
  /** An executor that saw 8 failed handshakes refuses all for 10 s; this many in 10 s may be open or have failed. */
  uncertainHandshakes: 6,
  handshakeWindowMs: 10_000,
  streamsPerHarness: 8,
  /** Begun on one socket in 10 s: each costs the environment something, also those that are over at once. */
  beginningsPerHarness: 128,
  socketsPerNode: 10_000,
  socketsPerSecond: 64,
  registrationsPerMinute: 16,
  /** Of a node that is alone; others keep them in their bucket. */
  registrations: 100_000,
  ownerChangesPerMinute: 3,

  /** Sent over the bus and not yet written to the socket at the other end, per stream and direction. */
  windowBytes: 4 * MiB,
  creditBytes: 256 * KiB,
  /** An executor may push a 64 MiB response at a slow harness, more than that in base64. */
  queueBytesPerStream: 96 * MiB,
  queueBytesPerNode: 1024 * MiB,
  /** A stream that takes nothing for this long is given up. */
  stallMs: 60_000,

  pingMs: 30_000,
  silenceMs: 75_000,
  /** How long a peer may take to answer when somebody wants to know whether it is there. */
  probeMs: 5_000,
  /** How long a stream between reliable endpoints waits for the end that lost its socket. */
  reattachMs: 20_000,
  environmentUrlMs: 24 * 3_600_000,
  harnessUrlMs: 60_000,
  authorizationMs: 120_000,

  /** How often the nodes at the two ends of a conversation compare what was sent and received. */
  pulseMs: 5_000,
  pulseSilenceMs: 15_000,
  /** How long nodes may take to come back after an interruption of the bus; to ask earlier is to take them for dead. */
  settleMs: 1_000,
  /** How long a node may take to say that something is there. */
  askMs: 300,
  openMs: 2_000,
  /** Right after a node has started, another server may not have heard of it. */
  openRetriesMs: [50, 100, 200] as readonly number[],
  refreshMs: 20_000,
  staleMs: 60_000,
} as const;

export type RendezvousLimits = { readonly [K in keyof typeof rendezvousLimits]: Widened<(typeof rendezvousLimits)[K]> };

type Widened<T> = T extends number ? number : T;
