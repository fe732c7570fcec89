/** Numbers both sides of the wire must agree on, and the bounds of everything that could grow. */
export const limits = {
  /** One incoming message, all fragments together. */
  messageBytes: 64 * 1024 * 1024,
  /** Scalars, arrays and objects in one message; keeps a small text from becoming a huge tree. */
  valuesPerMessage: 262_144,
  /** Output kept for `process/read`; also how much may be on its way to a client that has not confirmed it. */
  retainedOutputBytes: 1024 * 1024,
  /** Bounds the bookkeeping of a process that prints a byte at a time. */
  retainedChunks: 50_000,
  /** Refusals of its sandbox that are reported of a process. */
  denialsPerProcess: 32,
  /** Write ids a process remembers, so that a repeated write is recognised. */
  rememberedWriteIds: 4096,
  /** How long a closed process stays readable and its id taken. */
  closedProcessMs: 30_000,
  /** How long a session without a connection waits to be resumed. */
  detachedSessionMs: 30_000,
  /**
   * How long the connection of a session may take to answer when another one asks for the session: longer than a slow
   * network needs, and well below the 10 s that a client waits for its answer.
   */
  takeOverProbeMs: 2000,
  /** A ping that is not answered two intervals later ends a connection. */
  pingIntervalMs: 30_000,
  /** The same for a client, which has lost a server within three of these. */
  clientPingIntervalMs: 15_000,
  /** Requests of one connection that are handled at a time, by default. */
  requestsInFlight: 4096,
  /** Requests of one connection waiting for a slot; above it the connection is not read. */
  requestsWaiting: 4096,
  /** Bytes of a connection's requests that wait to be written to files; above it the connection is not read. */
  keptContentBytes: 64 * 1024 * 1024,
  /** Requests of one connection that wait for an event; further ones are refused. */
  parkedRequests: 16_384,
  /** Requests from the server to a client without an answer yet. */
  serverRequestsInFlight: 256,
  /** Bytes queued for a connection before senders wait. */
  outboxBytes: 1024 * 1024,
  /** Bytes queued for a child's stdin before writers wait. */
  stdinQueueBytes: 1024 * 1024,
  /** Bytes of one connection waiting behind such queues; further writes are refused. */
  stdinWaitingBytes: 64 * 1024 * 1024,
  /** The body of an HTTP response that is answered in one message; longer ones can be streamed. */
  bufferedHttpBodyBytes: 32 * 1024 * 1024,
  /** One piece of a streamed HTTP body. */
  httpBodyDeltaBytes: 1024 * 1024,
  /** HTTP connections of one client to one server; further requests wait. */
  httpConnectionsPerOrigin: 64,
  /** Connections through the managed network of one process; further ones are closed. */
  proxyConnections: 256,
  /** Matches of one `fs/search`: more than a model or a person reads. */
  searchMatches: 10_000,
  /** Matches of a search that does not say how many it wants. */
  searchMatchesByDefault: 1000,
  /** Matches of one search, as they go over the wire; as much as a walk may answer. */
  searchAnswerBytes: 4 * 1024 * 1024,
  searchIdLength: 64,
  /** Reports of network decisions waiting for room; further ones are dropped. */
  policyDecisionsQueued: 64,
} as const;
