const KiB = 1024;
const MiB = 1024 * KiB;

/** Bounds of one service. Tests lower some of them. */
export const rendezvousLimits = {
  /** The largest message that both kinds of endpoint accept. */
  messageBytes: 256 * KiB,
  /** The largest registry request is a key object of 1.7 kB. */
  requestBytes: 16 * KiB,

  /** An executor serves no more streams. */
  streamsPerEnvironment: 128,
  /** An executor works on no more handshakes at a time. */
  handshakesPerEnvironment: 32,
  /** An executor refuses every handshake for 10 s after 8 have failed. Fewer than that are unanswered or failed in 10 s. */
  uncertainHandshakes: 6,
  handshakeWindowMs: 10_000,
  /** A harness uses one stream and begins the next while it resumes. */
  streamsPerHarness: 8,
  /** Streams that one socket may begin in 10 s. Each costs the environment work, even one that ends at once. */
  beginningsPerHarness: 128,
  beginningsWindowMs: 10_000,
  /** Sockets of one node: file descriptors, and about 20 KiB of memory each while idle. */
  socketsPerNode: 10_000,
  /** New sockets of one token in a second: a fleet reconnects in a few seconds, a loop gains nothing. */
  socketsPerSecond: 64,
  /** An executor that reconnects registers once. More in a minute is a loop. */
  registrationsPerMinute: 16,
  /** Registrations in the memory of a node that is alone, at about 2 KiB. A cluster keeps them in its bucket. */
  registrations: 100_000,
  /** Two executors with one id would replace each other without end. */
  ownerChangesPerMinute: 3,

  /** Bytes sent over the bus and not yet written to the socket of the receiver, per stream and direction. */
  windowBytes: 4 * MiB,
  /** Credit is returned in portions, one message for many frames. */
  creditBytes: 256 * KiB,
  /** An executor may send a response of 64 MiB to a slow harness, a third more in base64. */
  queueBytesPerStream: 96 * MiB,
  /** Memory of the queues of a node. Above it, environments are not read. */
  queueBytesPerNode: 1024 * MiB,
  /** A stream is reset when its receiver takes no byte for this long. */
  stallMs: 60_000,

  /** Below the idle timeouts of common proxies, which begin at 60 s. */
  pingMs: 30_000,
  /** Two pings without an answer, and half a period for the answer to arrive. */
  silenceMs: 75_000,
  /** How long a peer may take to answer when its presence is in doubt. */
  probeMs: 5_000,
  /** How long a stream between reliable ends waits for the end that lost its socket. */
  reattachMs: 20_000,
  /** An executor connects again with its URL until this has passed. */
  environmentUrlMs: 24 * 3_600_000,
  /** A harness connects at once. */
  harnessUrlMs: 60_000,
  /** A handshake may wait for its turn after the harness has connected. */
  authorizationMs: 120_000,

  /** How often the two nodes of a link compare the frames they sent and received. */
  pulseMs: 5_000,
  /** Three comparisons missed: the other node is cut off. */
  pulseSilenceMs: 15_000,
  /** After an interruption of the bus, other nodes take this long to connect again. Asked earlier, they would seem dead. */
  settleMs: 1_000,
  /** How long a node may take to tell whether it has a socket. */
  askMs: 300,
  /** How long a node may take to attach a harness. */
  openMs: 2_000,
  /** NATS servers learn of a new node after one another, so a harness tries again. */
  openRetriesMs: [50, 100, 200] as readonly number[],
  /** How often a node refreshes its registrations. */
  refreshMs: 20_000,
  /** Three refreshes missed: the environment is listed as offline. */
  staleMs: 60_000,
} as const;

export type RendezvousLimits = { readonly [K in keyof typeof rendezvousLimits]: Widened<(typeof rendezvousLimits)[K]> };

type Widened<T> = T extends number ? number : T;

/** Bounds of the sockets of the switch. */
export const switchLimits = {
  /** How often time limits are enforced: none is shorter. */
  tickMs: 1000,
  /** Few harness connections have no stream at a time: this many for each stream that may exist. */
  connectionsPerStream: 4,
  /** Ended streams that a socket remembers: twice those that may exist. */
  endedStreams: 256,
  /** Frames sent without a callback, which are resets: far more than an environment has streams. */
  uncountedFrames: 1024,
  /** The silence of a peer is checked so often between two pings, because `silenceMs` is a multiple of that. */
  checksPerPing: 2,
  /** How long a peer may take to answer a close frame. */
  closeMs: 1000,
  /** Environments are read again when the queues have shrunk to this part. At 1 they would stop and go with every frame. */
  roomAgain: 7 / 8,
} as const;

/** Bounds of the HTTP port. */
export const httpLimits = {
  /** A client that sends its headers slower than this occupies a socket on purpose. */
  headersMs: 10_000,
  requestMs: 20_000,
  /** How long answers may take when the service stops. */
  closeMs: 1500,
  /** Refused environment ids are cut to the length of a valid one in the audit log. */
  loggedIdCharacters: 64,
} as const;

/** Bounds of the registry. */
export const registryLimits = {
  rateWindowMs: 60_000,
  /** Half the window: by then a place is free, on average. */
  retrySeconds: 30,
} as const;

/** Bounds of the directory that nodes share. */
export const directoryLimits = {
  /** Another node can be faster that often before an update is given up. */
  updateTries: 16,
  /** Entries expire after a day, so ten minutes more do not matter. */
  sweepMs: 600_000,
  /** How soon a bucket that was made anew is noticed. */
  bucketCheckMs: 2000,
  /** The pause between attempts to open a bucket. */
  reopenPauseMs: 250,
  /** How long a change waits for another bucket: as long as a request waits for the directory. */
  reopenMs: 3000,
} as const;

/** Bounds of the connection to NATS. */
export const natsLimits = {
  /** How long a request waits for the directory before it is refused. */
  answerMs: 3000,
  /** Servers that were just started elect a leader first. This allows them 10 s. */
  openTries: 40,
  openPauseMs: 250,
  /** A connection is known to be dead after two of them without an answer. */
  pingMs: 5000,
  connectMs: 5000,
  reconnectPauseMs: 250,
  /** Nodes that lost the same server do not come back in the same moment. */
  reconnectJitterMs: 100,
  /** How long messages under way may take when a node stops. */
  drainMs: 2000,
  /** Nodes whose last message number is kept: more, living and lately dead, than a cluster has. */
  rememberedNodes: 4096,
  /** Entries outlive what they describe by this: the clocks of nodes differ. */
  registrationGraceMs: 3_600_000,
  claimGraceMs: 60_000,
} as const;
