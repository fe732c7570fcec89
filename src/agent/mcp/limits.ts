/** The bounds of the tool servers; the numbers a model notices are in `unified-exec/limits.ts`. */
export const limits = {
  /** Sessions over HTTP. Each can have 64 commands; beyond this the one idle longest ends. */
  httpSessions: 32,
  /** Most clients never close their session, so one without a request for this long counts as gone. */
  idleSessionMs: 30 * 60_000,
  /** How often idle sessions are searched for. */
  sweepIntervalMs: 60_000,
  /** Tool calls of one client at the same time. */
  callsPerSession: 64,
  /** Questions that one call may ask: about a command, its second attempt, and the hosts it connects to. */
  questionsPerCall: 16,
  /** A client that has not answered by then does not come back, and its call ends. */
  questionMs: 10 * 60_000,
  /** The same for the shell tool, whose clients may show several questions at once. */
  shellQuestionMs: 60 * 60_000,
  /** Clients give up on a request after 60 s unless configured otherwise; every answer comes well before. */
  longestWaitMs: 30_000,
  /** How often a client hears that its call goes on. */
  progressIntervalMs: 1_000,
  /** Lines and characters of one `read_file`: about what a model can use of one answer. */
  linesRead: 2_000,
  charactersRead: 256 * 1024,
  /** Entries and depth of one `list_dir`, for the same reason. */
  entriesListed: 1_000,
  depthListed: 8,
  /** Bytes of one message to the shell tool that are kept until its newline; longer ones go to their reader in parts. */
  lineBytes: 8 * 1024 * 1024,
} as const;
