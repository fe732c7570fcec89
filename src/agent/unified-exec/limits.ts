/** Bounds of the two tools. Models notice most of them; those of the wire are in `protocol`. */
export const limits = {
  shortestYieldMs: 250,
  longestYieldMs: 30_000,
  startYieldMs: 10_000,
  inputYieldMs: 250,
  shortestPollMs: 5000,
  longestPollMs: 300_000,
  /** PowerShell alone may take seconds to start. */
  windowsStartYieldMs: 10_000,
  /** After input, programs get this time to react before the window opens. */
  afterInputMs: 100,
  /** A command that ends this soon after its start never becomes a session. */
  earlyExitMs: 150,
  /** How long a call collects output after the exit, while children keep the streams open. */
  closeGraceMs: 50,
  /** The same for the end event, for which no call waits. */
  trailingOutputMs: 100,
  /** How long after an exit the network refusal that caused it may arrive. */
  networkGraceMs: 100,
  /** How long disposal waits for the end events of its commands. */
  lastEventsMs: 2000,
  /** The user has to read the question about a host and answer it. */
  networkQuestionMs: 10 * 60 * 1000,
  outputBytes: 1024 * 1024,
  modelOutputTokens: 10_000,
  bytesPerToken: 4,
  deltaBytes: 8192,
  deltasPerCall: 10_000,
  sessions: 64,
  /** The most recently used sessions are never evicted. */
  protectedSessions: 8,
  /** Unread events and bytes of a subscriber above which output events are dropped. */
  eventsQueued: 4096,
  eventBytesQueued: 16 * 1024 * 1024,
  /** The same above which all events are dropped. */
  eventsQueuedAtMost: 16_384,
  eventBytesQueuedAtMost: 64 * 1024 * 1024,
} as const;
