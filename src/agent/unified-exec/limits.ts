/** The numbers a model notices when they change; those of the wire are in `protocol`. */
export const limits = {
  shortestYieldMs: 250,
  longestYieldMs: 30_000,
  startYieldMs: 10_000,
  inputYieldMs: 250,
  shortestPollMs: 5000,
  longestPollMs: 300_000,
  /** PowerShell alone may take seconds to come up. */
  windowsStartYieldMs: 10_000,
  /** A terminal echoes and reacts within this time, so that the window starts with the reaction. */
  afterInputMs: 100,
  /** What ends this soon after its start is never a session. */
  earlyExitMs: 150,
  /** How long streams may stay open behind an exit. */
  closeGraceMs: 50,
  /** The same for the end event, which delays no call. */
  trailingOutputMs: 100,
  /** How long a refusal of the network may come after the exit it caused. */
  networkGraceMs: 100,
  /** How long the end of everything waits for the ends of its commands. */
  lastEventsMs: 2000,
  outputBytes: 1024 * 1024,
  modelOutputTokens: 10_000,
  bytesPerToken: 4,
  deltaBytes: 8192,
  deltasPerCall: 10_000,
  sessions: 64,
  /** The most recently used ones are never evicted. */
  protectedSessions: 8,
  /** What a subscriber may leave unread before it misses output. */
  eventsQueued: 4096,
  eventBytesQueued: 16 * 1024 * 1024,
  /** What it may leave unread before it misses everything. */
  eventsQueuedAtMost: 16_384,
  eventBytesQueuedAtMost: 64 * 1024 * 1024,
} as const;
