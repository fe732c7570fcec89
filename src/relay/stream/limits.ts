/** Bounds of a relayed stream. Peers rely on those that the reference has. */
export const limits = {
  /** Plaintext of one record; a receiver refuses more. */
  recordBytes: 61_440,
  /** The same between two ends that acknowledge deliveries: the most that fits in one message of a rendezvous. */
  largeRecordBytes: 240 * 1024,
  /** One application message. */
  messageBytes: 64 * 1024 * 1024,
  /** Segments of one message of the plain relay: at most so many are kept until the last one arrives. */
  segments: 65_536,
  /** How far ahead of the next record another may arrive, and how much may wait for it. */
  reorderFrames: 64,
  reorderBytes: 1024 * 1024,
  /** The most that may be sent and not acknowledged; fits the window above. */
  windowFrames: 64,
  windowBytes: 4 * 1024 * 1024,
  /** An acknowledgement in a frame of its own is due after this many records or bytes, or after this time. */
  ackFrames: 32,
  ackBytes: 512 * 1024,
  ackMs: 20,
  /** When frames are sent again: twice the round trip, within these bounds; `first` until a round trip was measured. */
  firstResendMs: 500,
  shortestResendMs: 100,
  longestResendMs: 2000,
  /** A frame that was sent again for this time will never arrive; on a slow connection a frame can take a minute. */
  stuckMs: 120_000,
  /** A heartbeat is sent after this time without another frame; a peer that sends nothing for `silenceMs` is lost. */
  heartbeatMs: 10_000,
  silenceMs: 30_000,
  /** The authorization of a harness, inside the first handshake message. */
  authorizationBytes: 4096,
  /** Messages and bytes decrypted but not yet taken by the application. */
  inboxMessages: 128,
  inboxBytes: 64 * 1024 * 1024,
  /** The same where the sender can be slowed down. */
  slowedInboxBytes: 1024 * 1024,
  /** Bytes queued by senders before they wait. */
  outboxBytes: 1024 * 1024,
  activeStreams: 128,
  pendingHandshakes: 32,
  /** After this many failed handshakes over one connection, none are examined for `coolDownMs`. */
  handshakeFailures: 8,
  coolDownMs: 10_000,
  handshakeMs: 10_000,
  validationMs: 10_000,
  /** A record that others overtook is considered lost after this time. */
  gapMs: 10_000,
  /** How long a stream that acknowledges deliveries waits for a new connection. */
  reattachMs: 20_000,
  /** Offers of acknowledged delivery by streams that have not begun their handshake. */
  rememberedOffers: 256,
  /** Characters of a stream id that are logged or remembered before it has a stream; ours have 36. */
  shownStreamId: 64,
  /** Resets that wait for room on the connection; further ones are left out. */
  lateResets: 256,
  /** How long a closing stream tries to send its last messages. */
  closingMs: 1000,
} as const;
