/** Bounds of a relayed stream. The peers count on those that are the reference's own. */
export const limits = {
  /** Plaintext of one record; a receiver refuses more. */
  recordBytes: 61_440,
  /** The same between two ends that acknowledge deliveries: what still fits in one message of a rendezvous. */
  largeRecordBytes: 240 * 1024,
  /** One application message. */
  messageBytes: 64 * 1024 * 1024,
  /** How far ahead of the next record another may arrive, and how much may wait for it. */
  reorderFrames: 64,
  reorderBytes: 1024 * 1024,
  /** What may be under way unacknowledged with the reliability extension; fits the window above. */
  windowFrames: 64,
  windowBytes: 4 * 1024 * 1024,
  /** What the other side proves its right with, inside the first handshake message. */
  authorizationBytes: 4096,
  /** Messages and bytes decrypted but not yet taken by the application. */
  inboxMessages: 128,
  inboxBytes: 64 * 1024 * 1024,
  /** Of a sender that can be slowed down far less has to wait. */
  slowedInboxBytes: 1024 * 1024,
  /** Bytes queued by senders before they wait. */
  outboxBytes: 1024 * 1024,
  activeStreams: 128,
  pendingHandshakes: 32,
  /** So many failed handshakes over one connection, then none are looked at for a while. */
  handshakeFailures: 8,
  coolDownMs: 10_000,
  handshakeMs: 10_000,
  validationMs: 10_000,
  /** A record that others overtook has been lost if it has not come by then. */
  gapMs: 10_000,
  /** How long a stream with the extension waits for a new connection. */
  reattachMs: 20_000,
  /** Announcements of the extension by streams that have not begun their handshake. */
  rememberedOffers: 256,
  /** Resets that wait for room on the connection; further ones are left out. */
  lateResets: 256,
  /** How long an ending stream tries to bring out what was sent before. */
  lastWordsMs: 1000,
} as const;
