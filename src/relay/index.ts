export {
  type EncryptedEnvironmentOptions,
  EncryptedEnvironmentStreams,
  type EnvironmentLimits,
  type HarnessFacts,
  type StreamFacts,
} from './stream/encrypted-environment-streams.ts';
export {
  type HandshakeContext,
  InitiatorHandshake,
  type RecordCiphers,
  ResponderHandshake,
} from './stream/handshake.ts';
export type { Reattach } from './stream/harness-connection.ts';
export { type HarnessStreamOptions, openHarnessStream } from './stream/harness-stream.ts';
export {
  generateRelayKeys,
  keyFingerprint,
  type PublicKeyObject,
  parsePublicKeyObject,
  publicKeyObject,
  type RelayKeys,
} from './stream/keys.ts';
export { type PlainEnvironmentOptions, PlainEnvironmentStreams } from './stream/plain-environment-streams.ts';
export { openPlainHarnessStream, type PlainHarnessOptions } from './stream/plain-harness-stream.ts';
export {
  type DecodeOptions,
  decodeFrame,
  type Envelope,
  encodeFrame,
  type RelayBody,
  type RelayData,
  type RelayFrame,
  readEnvelope,
} from './wire/frame.ts';
export { type FrameReceiver, type FrameTransport, frameLength, type SealedFrame } from './wire/frame-transport.ts';
export { RelayError } from './wire/relay-error.ts';
