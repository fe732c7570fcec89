import type { RelayData, RelayFrame } from '../wire/frame.ts';
import type { OutgoingFrame } from '../wire/frame-transport.ts';
import type { OutgoingMessage } from './outgoing-message.ts';

/** How messages travel in data frames: encrypted, or in the clear on the plain relay. */
export interface Records {
  /** The number of the next data frame. */
  readonly seq: number;
  /** Whether numbers count although deliveries are not acknowledged; the plain relay goes by the order of arrival. */
  readonly areNumbered: boolean;
  /** The next data frame, with as much of the message as it may carry. */
  frame(message: OutgoingMessage, head: FrameHead, isAcknowledged: boolean): OutgoingFrame;
  /** Throws a `RelayError` for a record that must not be kept until it is the next one. */
  check(data: RelayData): void;
  /** The messages that a record completes. Takes records in order; throws a `RelayError` for a wrong one. */
  read(data: RelayData): Uint8Array[];
  /** The reason in a reset. */
  resetReason(reason: string): string;
}

/** The fields before the body of a frame. */
export type FrameHead = Pick<RelayFrame, 'streamId' | 'ack' | 'ackBits'>;
