/** The reason why a frame, a key, a handshake or a record is refused. */
export class RelayError extends Error {
  override readonly name = 'RelayError';
}
