/** The bounds of the connections to ports. */
export const portLimits = {
  /** Connections of one session that are open or being opened: many browsers' worth, at two descriptors and a window each. */
  streams: 256,
  /** Closed connections that are kept for late readers; the oldest make room. */
  closedStreams: 1024,
  /** Unread bytes of closed connections; the oldest make room. */
  closedBytes: 16 * 1024 * 1024,
  /** The largest window a client may ask for: 64 MB/s over a line of 60 ms. */
  windowBytes: 4 * 1024 * 1024,
  /** How long a connection may take to be made. A port of this machine answers at once; a listed host may be far away. */
  connectMs: 10_000,
  /** How long a name may take to be looked up. */
  resolveMs: 5000,
  /** Ports that `net/ports` lists. */
  listed: 1024,
  /** Addresses of one name that are tried. */
  addresses: 8,
} as const;
