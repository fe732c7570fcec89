export {
  type EnvironmentLimits,
  EnvironmentStreams,
  type EnvironmentStreamsOptions,
  type StreamFacts,
} from './stream/environment-streams.ts';
export { type HandshakeContext, InitiatorHandshake, ResponderHandshake, type Session } from './stream/handshake.ts';
export { type HarnessStreamOptions, openHarnessStream } from './stream/harness-stream.ts';
export {
  generateRelayKeys,
  keyFingerprint,
  type PublicKeyObject,
  parsePublicKeyObject,
  publicKeyObject,
  type RelayKeys,
} from './stream/keys.ts';
export {
  openPlainHarnessStream,
  type PlainEnvironmentOptions,
  PlainEnvironmentStreams,
} from './stream/plain-streams.ts';
export {
  type DecodeOptions,
  decodeFrame,
  type Envelope,
  encodeFrame,
  type RelayBody,
  type RelayFrame,
  readEnvelope,
} from './wire/frame.ts';
export { type FrameReceiver, type FrameTransport, frameLength, type SealedFrame } from './wire/frame-transport.ts';
export { RelayError } from './wire/relay-error.ts';
