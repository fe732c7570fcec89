export { type Clock, systemClock } from './clock.ts';
export {
  type EnvironmentLimits,
  EnvironmentStreams,
  type EnvironmentStreamsOptions,
  type StreamFacts,
} from './environment-streams.ts';
export {
  type DecodeOptions,
  decodeFrame,
  type Envelope,
  encodeFrame,
  type RelayBody,
  type RelayFrame,
  readEnvelope,
} from './frame.ts';
export { type FrameReceiver, type FrameTransport, frameLength, type SealedFrame } from './frame-transport.ts';
export { type HandshakeContext, InitiatorHandshake, ResponderHandshake, type Session } from './handshake.ts';
export { type HarnessStreamOptions, openHarnessStream } from './harness-stream.ts';
export {
  generateRelayKeys,
  keyFingerprint,
  type PublicKeyObject,
  parsePublicKeyObject,
  publicKeyObject,
  type RelayKeys,
} from './keys.ts';
export { openPlainHarnessStream, type PlainEnvironmentOptions, PlainEnvironmentStreams } from './plain-streams.ts';
export { RelayError } from './relay-error.ts';
